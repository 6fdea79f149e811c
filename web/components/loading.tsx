/** Stands where lines of content will be; screen readers hear one word. */
export function SkeletonLines({ lines = 4 }: { lines?: number }) {
  return (
    <div className="skeleton-lines" role="status">
      <span className="visually-hidden">Loading …</span>
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <span key={index} className="skeleton skeleton-line" />
      ))}
    </div>
  )
}
