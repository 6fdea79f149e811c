import { SkeletonLines } from '../components/feedback/messages.tsx'
import { Brand } from '../components/layout/brand.tsx'

/** The frame of signed-in pages while the session is read. */
export function FrameSkeleton() {
  return (
    <div className="grid flex-1 grid-cols-1 content-start lg:grid-cols-[15rem_minmax(0,1fr)] lg:content-stretch">
      <header className="border-b border-line px-4 py-2 lg:border-r lg:border-b-0 lg:bg-surface lg:p-3 [&>a]:lg:mx-3">
        <Brand />
      </header>
      <main id="main" className="px-4 pt-6 lg:px-[clamp(1rem,3vw,3rem)] lg:pt-8" tabIndex={-1}>
        <div className="panel mx-auto max-w-320">
          <SkeletonLines />
        </div>
      </main>
    </div>
  )
}
