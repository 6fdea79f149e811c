// The pages of operators, one gateway and one browser for all of them.
import './operator/operator-journey.ts'
import './operator/every-operator-page.ts'
import './operator/operators.ts'
import './operator/operator-forms.ts'
import './operator/provider-status.ts'
