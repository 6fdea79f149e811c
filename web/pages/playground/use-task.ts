import { useEffect, useRef, useState } from 'react'
import { messageOf, newReference } from '../../api/request.ts'
import { runTask, type TaskRequest, type TaskResult } from './run-task.ts'

interface TaskState {
  phase: 'idle' | 'running' | 'done' | 'failed' | 'stopped'
  /** Names the request, so that what shows its answer begins anew with each. */
  id: string
  result: TaskResult | null
  error: string | null
}

/** One call at a time of a surface that answers as a whole. Leaving the page stops it. */
export function useTask(surface: string, keyId: string) {
  const [state, setState] = useState<TaskState>({ phase: 'idle', id: '', result: null, error: null })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (request: TaskRequest) => {
    const controller = new AbortController()
    running.current = controller
    const state = { id: newReference(), result: null, error: null }
    setState({ ...state, phase: 'running' })
    try {
      const result = await runTask(surface, keyId, request, controller.signal)
      setState({ ...state, phase: 'done', result })
    } catch (error) {
      const isStopped = controller.signal.aborted
      const message = error instanceof TypeError ? 'The connection broke.' : messageOf(error)
      setState({
        ...state,
        phase: isStopped ? 'stopped' : 'failed',
        error: isStopped ? null : message,
      })
    }
  }
  return { ...state, run, stop: () => running.current?.abort() }
}
