import { useNavigate } from '@tanstack/react-router'
import { ChartKey } from '../../components/chart/chart-figure.tsx'
import { ScatterChart, type ScatterPoint } from '../../components/chart/scatter-chart.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { plural } from '../../lib/format.ts'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import { costOfThousand, roundedUsd } from '../../lib/models/model-comparison.ts'
import { frontierOf, qualitySource, qualityText } from '../../lib/models/model-quality.ts'
import { FILLS, OTHERS_FILL } from '../../lib/usage-view.ts'
import { useCallSize } from './use-call-size.ts'

/**
 * What a thousand calls of each model cost, and how good it is; the list below has the same figures. `all`: the whole
 * catalog, by which makers have their colours, whatever is shown.
 */
export function PriceQuality({ models, all }: { models: CatalogModel[]; all: CatalogModel[] }) {
  const navigate = useNavigate()
  const { size, thousand } = useCallSize()
  const fills = fillsOf(all)
  const points = models
    .flatMap((model): ScatterPoint[] => {
      const usd = costOfThousand(model, size)
      if (!model.quality || !usd) return []
      const { id, name, maker, quality } = model
      const figures = `$${roundedUsd(usd)}, quality ${qualityText(quality)}`
      return [
        {
          ...{ id, name, x: usd, y: quality.value, error: quality.standard_error },
          fill: fills.get(maker) ?? OTHERS_FILL,
          text: `${maker}: ${figures}. ${qualitySource(quality)}`,
        },
      ]
    })
    .sort((a, b) => a.x - b.x)
  const shown = new Set(points.map(({ fill }) => fill))
  return (
    <Panel title="Price and quality" padded>
      {points.length === 0 ? (
        <p className="text-muted">No figure of quality is known of these models.</p>
      ) : (
        <>
          <div className="row gap-x-4 gap-y-1 text-sm text-soft">
            {[...fills].map(
              ([maker, fill]) =>
                shown.has(fill) && (
                  <ChartKey key={maker} colour={fill}>
                    {maker}
                  </ChartKey>
                ),
            )}
            {shown.has(OTHERS_FILL) && <ChartKey colour={OTHERS_FILL}>Others</ChartKey>}
          </div>
          <ScatterChart
            label={`Quality by the price of ${thousand}`}
            points={points}
            frontier={frontierOf(points)}
            formatX={(usd) => `$${roundedUsd(usd)}`}
            formatY={(share) => `${Math.round(share * 100)}%`}
            onPick={(id) => void navigate({ to: '/models/$', params: { _splat: id } })}
          />
          <p className="text-sm text-muted">
            Across: the price of {thousand}. Up: the share of published reasoning and data tasks done well, ±
            one standard error, of {plural(points.length, 'model')} with a figure. The line joins those that
            none as cheap surpasses.
          </p>
        </>
      )}
    </Panel>
  )
}

/** The makers with the most models that have a figure, in colours of their own. */
function fillsOf(models: readonly CatalogModel[]): Map<string, string> {
  const counts = new Map<string, number>()
  for (const { maker, quality } of models) if (quality) counts.set(maker, (counts.get(maker) ?? 0) + 1)
  const largest = [...counts].sort(([, a], [, b]) => b - a).slice(0, FILLS.length)
  return new Map(largest.map(([maker], index) => [maker, FILLS[index]!]))
}
