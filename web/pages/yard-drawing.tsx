/**
 * The picture of the landing page: a call comes in on one track, the first provider is out of service, the switch
 * leads it to the next. Decoration only; the text beside it says the same.
 */
export const YardDrawing = () => (
  <svg
    className="h-auto w-full max-w-120 justify-self-center min-[56rem]:max-w-none"
    viewBox="0 0 560 400"
    fill="none"
    aria-hidden="true"
  >
    <g stroke="var(--color-line-strong)" strokeWidth="2" opacity="0.65">
      <path d="M170 200h60c60 0 60-140 120-140h190" />
      <path d="M170 200h60c60 0 60-70 120-70h190" strokeDasharray="3 7" />
      <path d="M20 200h520" />
      <path d="M170 200h60c60 0 60 70 120 70h190" />
      <path d="M170 200h60c60 0 60 140 120 140h190" />
    </g>
    <g stroke="var(--color-line-strong)" strokeWidth="2" opacity="0.45">
      {TIES.map((x) => (
        <path key={x} d={`M${x} 190v20`} />
      ))}
    </g>
    <path d={ROUTE} stroke="var(--color-accent-fill)" strokeWidth="4" strokeLinecap="round" />
    <path
      className="yard-train"
      d={ROUTE}
      pathLength="100"
      stroke="var(--color-page)"
      strokeWidth="2"
      strokeLinecap="round"
    />
    <path
      d="M381 119l22 22M403 119l-22 22"
      stroke="var(--color-bad)"
      strokeWidth="3.5"
      strokeLinecap="round"
    />
    <circle
      cx="230"
      cy="200"
      r="8"
      fill="var(--color-page)"
      stroke="var(--color-accent-fill)"
      strokeWidth="4"
    />
    {SIGNALS.map(([y, colour]) => (
      <circle key={y} cx="540" cy={y} r="6" fill={colour} />
    ))}
    <g fill="var(--color-muted)" fontFamily="var(--font-mono)" fontSize="13">
      <text x="20" y="176">
        your call
      </text>
      <text x="204" y="176">
        switch
      </text>
      <text x="536" y="296" textAnchor="end">
        completion
      </text>
      <text x="536" y="116" textAnchor="end">
        provider down
      </text>
    </g>
  </svg>
)

const TIES = Array.from({ length: 8 }, (_, index) => 36 + index * 20)

const ROUTE = 'M20 200h210c60 0 60 70 120 70h190'

const SIGNALS = [
  [60, 'var(--color-good)'],
  [130, 'var(--color-bad)'],
  [200, 'var(--color-good)'],
  [270, 'var(--color-good)'],
  [340, 'var(--color-good)'],
] as const
