import type { StoredOperator } from '../../accounts/operators/operator-store.ts'
import { OperatorView } from '../../core/api/operators.ts'
import { jsonView } from '../json-view.ts'

export const operatorView = (operator: StoredOperator): OperatorView => jsonView(OperatorView, operator)
