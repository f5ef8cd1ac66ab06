/** Diagnoses of the metrics, each with what to look at. */
import { diagnose, diagnoses, type RunView } from '../../run/index.js'
import type { Alert, AlertsAnswer } from '../api.js'
import type { Handler } from './index.js'

export const alertsRoute: Handler = async ({ catalog }, { parts }): Promise<AlertsAnswer> => {
  const { view, derived } = await catalog.run(parts.run!)
  return { alerts: derived('alerts', () => alertsOf(view)) }
}

function alertsOf({ metrics, status, events, step }: RunView): Alert[] {
  const now = diagnose(metrics, status === 'finished' ? 'end' : 'step')
  // What the run itself said, at the step it said it; some of it may not hold any more.
  const said = new Map<string, { readonly message: string; readonly page: string; readonly step: number }>()
  for (const event of events) {
    const { kind, diagnosis, message, page } = event
    if (kind !== 'warning' || typeof diagnosis !== 'string' || said.has(diagnosis)) continue
    said.set(diagnosis, { message: String(message), page: String(page), step: Number(event.step ?? 0) })
  }
  const past = [...said].filter(([id]) => !now.some(finding => finding.id === id))
  return [
    ...now.map(finding => ({ ...finding, step: said.get(finding.id)?.step ?? step, holds: true })),
    ...past.map(([id, finding]) => ({ id, ...finding, holds: false })),
  ].map(alert => {
    const { look = '', metrics: shown = [] } = diagnoses.find(({ id }) => id === alert.id) ?? {}
    return { ...alert, advice: look, metrics: shown.filter(name => metrics.has(name)) }
  })
}
