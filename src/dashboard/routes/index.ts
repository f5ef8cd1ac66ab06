/** Every route of `api.ts` and the function that answers it. */
import type { Routes } from '../api.js'
import type { Exchange } from '../exchange.js'
import type { Served } from '../server.js'
import { actRoute, actsRoute, rescoreRoute } from './acts.js'
import { alertsRoute } from './alerts.js'
import { chatModelsRoute, chatRoute } from './chat.js'
import { curvesRoute, metricsRoute } from './curves.js'
import { exportRoute, flagRoute, flagsRoute, pairRoute } from './flags.js'
import { runRoute, runsRoute } from './runs.js'
import { distributionsRoute, groupsRoute, mediaRoute, sampleRoute, samplesRoute, tokensRoute } from './samples.js'
import { stagesRoute } from './stages.js'

/** Gives the JSON of its answer, or undefined where it has answered itself. */
export type Handler = (served: Served, exchange: Exchange) => Promise<unknown>

export const routes: Readonly<Partial<Record<keyof Routes, Handler>>> = {
  'GET /api/session': async ({ catalog, version }) => ({ version, runsDirectory: catalog.directory }),
  'GET /api/runs': runsRoute,
  'GET /api/runs/:run': runRoute,
  'GET /api/runs/:run/metrics': metricsRoute,
  'GET /api/runs/:run/curves': curvesRoute,
  'GET /api/runs/:run/stages': stagesRoute,
  'GET /api/runs/:run/samples': samplesRoute,
  'GET /api/runs/:run/samples/:sample': sampleRoute,
  'GET /api/runs/:run/samples/:sample/tokens': tokensRoute,
  'GET /api/runs/:run/samples/:sample/media/:n': mediaRoute,
  'GET /api/runs/:run/groups': groupsRoute,
  'GET /api/runs/:run/distributions': distributionsRoute,
  'GET /api/runs/:run/flags': flagsRoute,
  'POST /api/runs/:run/flags': flagRoute,
  'POST /api/runs/:run/pairs': pairRoute,
  'GET /api/runs/:run/export': exportRoute,
  'GET /api/runs/:run/alerts': alertsRoute,
  'GET /api/runs/:run/acts': actsRoute,
  'POST /api/runs/:run/acts': actRoute,
  'POST /api/runs/:run/rescore': rescoreRoute,
  'GET /api/runs/:run/chat': chatModelsRoute,
  'POST /api/runs/:run/chat': chatRoute,
  'GET /api/events': async ({ live }, { response, query }) => {
    live.open(response, query.get('run') ?? undefined)
  },
}
