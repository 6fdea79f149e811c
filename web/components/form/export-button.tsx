import { Download } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { failureOf, messageOf, reach } from '../../api/request.ts'
import { type DownloadProgress, formatBytes, readCsv } from '../../lib/download.ts'
import { formatCount, plural } from '../../lib/format.ts'
import { showToast } from '../feedback/toasts.tsx'
import { Button, type ButtonProps } from './button.tsx'

const SHOWN_EVERY_MS = 200

/** Downloads a CSV file and says how far it is. `total`: its rows, where they are known. */
export function ExportButton(
  props: Pick<ButtonProps, 'size' | 'children'> & { path: string; name: string; total?: number | undefined },
) {
  const { path, name, total, size, children } = props
  const [progress, setProgress] = useState<DownloadProgress | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const abort = useRef<AbortController | null>(null)
  useEffect(() => () => abort.current?.abort(), [])
  const start = async () => {
    const controller = new AbortController()
    abort.current = controller
    setProblem(null)
    setProgress({ rows: 0, bytes: 0 })
    let shownAt = 0
    try {
      const response = await reach(path, { method: 'GET', signal: controller.signal })
      if (!response.ok) throw await failureOf(response)
      const { file, ...done } = await readCsv(response, (next) => {
        if (performance.now() - shownAt < SHOWN_EVERY_MS) return
        shownAt = performance.now()
        setProgress(next)
      })
      saveFile(file, name)
      showToast(`${plural(done.rows, 'row')} saved as ${name} (${formatBytes(done.bytes)}).`)
    } catch (error) {
      if (!controller.signal.aborted)
        setProblem(error instanceof TypeError ? 'The connection broke. Nothing was saved.' : messageOf(error))
    } finally {
      setProgress(null)
    }
  }
  return (
    <span className="row gap-2">
      {problem && (
        <span className="text-sm text-bad" role="alert">
          {problem}
        </span>
      )}
      {progress ? (
        <>
          <span className="text-sm text-muted tabular-nums" role="status">
            {formatCount(progress.rows)}
            {total !== undefined && ` of ${formatCount(total)}`} rows, {formatBytes(progress.bytes)}
          </span>
          <Button size="small" onClick={() => abort.current?.abort()}>
            Cancel
          </Button>
        </>
      ) : (
        <Button icon={Download} size={size} onClick={() => void start()}>
          {children}
        </Button>
      )}
    </span>
  )
}

/** Saves a file under a name, as a link with `download` does. */
function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has the file by then.
  window.setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
