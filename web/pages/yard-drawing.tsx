/**
 * The picture of the landing page: a call comes in on one track, the first provider is out of service, the switch
 * leads it to the next. Decoration only; the text beside it says the same.
 */
export function YardDrawing() {
  return (
    <svg className="yard" viewBox="0 0 560 400" fill="none" aria-hidden="true">
      <g className="yard-tracks">
        <path d="M170 200h60c60 0 60-140 120-140h190" />
        <path d="M170 200h60c60 0 60-70 120-70h190" className="yard-broken" />
        <path d="M20 200h520" />
        <path d="M170 200h60c60 0 60 70 120 70h190" />
        <path d="M170 200h60c60 0 60 140 120 140h190" />
      </g>
      <g className="yard-ties">
        {TIES.map((x) => (
          <path key={x} d={`M${x} 190v20`} />
        ))}
      </g>
      <path className="yard-route" d="M20 200h210c60 0 60 70 120 70h190" />
      <path className="yard-train" d="M20 200h210c60 0 60 70 120 70h190" pathLength="100" />
      <g className="yard-stop">
        <path d="M381 119l22 22M403 119l-22 22" />
      </g>
      <circle className="yard-switch" cx="230" cy="200" r="8" />
      <g className="yard-signals">
        {SIGNALS.map(([y, tone]) => (
          <circle key={y} cx="540" cy={y} r="6" className={`yard-signal-${tone}`} />
        ))}
      </g>
      <g className="yard-labels">
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
}

const TIES = Array.from({ length: 8 }, (_, index) => 36 + index * 20)

const SIGNALS: ReadonlyArray<readonly [number, 'clear' | 'stop']> = [
  [60, 'clear'],
  [130, 'stop'],
  [200, 'clear'],
  [270, 'clear'],
  [340, 'clear'],
]
