/**
 * What the dashboard's server and its page say to each other: every route with the JSON of its question and its answer. Types alone; the
 * page bundles nothing of the server.
 *
 * All routes but `login` need the token: in the cookie that `login` sets, or in the header `Authorization: Bearer TOKEN`. Never in a URL.
 * Requests that change something are `POST` with `Content-Type: application/json`.
 * An error is status 4xx or 5xx with an {@link ErrorAnswer}. A number that is NaN or infinite is `null` in JSON.
 *
 * `:run` is the name of {@link RunSummary}, with `encodeURIComponent`. `:sample` is {@link SampleRow.id}, likewise.
 */
import type {
  ActAnswer,
  ActRequest,
  ActsAnswer,
  ChatLine,
  ChatModelsAnswer,
  ChatRequest,
  RescoreAnswer,
  RescoreRequest,
} from './api/acts.js'
import type { AlertsAnswer, CurvesAnswer, CurvesQuery, MetricsAnswer, StagesAnswer, StagesQuery } from './api/curves.js'
import type { LiveEvent } from './api/live.js'
import type { LoginRequest, RunDetail, RunsAnswer, Session } from './api/runs.js'
import type {
  DistributionsAnswer,
  DistributionsQuery,
  FlagRequest,
  FlagsAnswer,
  GroupsAnswer,
  GroupsQuery,
  PairRequest,
  SampleDetail,
  SamplesAnswer,
  SamplesQuery,
  TokensAnswer,
} from './api/samples.js'

export * from './api/acts.js'
export * from './api/curves.js'
export * from './api/live.js'
export * from './api/runs.js'
export * from './api/samples.js'

/** Every route: method and path, the query or body it takes, and what it answers with. */
export interface Routes {
  'POST /api/login': { body: LoginRequest; answer: Session }
  'GET /api/session': { answer: Session }
  'GET /api/runs': { answer: RunsAnswer }
  'GET /api/runs/:run': { answer: RunDetail }
  'GET /api/runs/:run/metrics': { answer: MetricsAnswer }
  'GET /api/runs/:run/curves': { query: CurvesQuery; answer: CurvesAnswer }
  'GET /api/runs/:run/stages': { query: StagesQuery; answer: StagesAnswer }
  'GET /api/runs/:run/samples': { query: SamplesQuery; answer: SamplesAnswer }
  'GET /api/runs/:run/samples/:sample': { answer: SampleDetail }
  'GET /api/runs/:run/samples/:sample/tokens': { answer: TokensAnswer }
  /** The bytes of a picture of the sample, with its media type. `N` counts {@link SampleDetail.media}, from 0. */
  'GET /api/runs/:run/samples/:sample/media/:n': { answer: Bytes }
  'GET /api/runs/:run/groups': { query: GroupsQuery; answer: GroupsAnswer }
  'GET /api/runs/:run/distributions': { query: DistributionsQuery; answer: DistributionsAnswer }
  'GET /api/runs/:run/alerts': { answer: AlertsAnswer }
  'GET /api/runs/:run/acts': { answer: ActsAnswer }
  'POST /api/runs/:run/acts': { body: ActRequest; answer: ActAnswer }
  'POST /api/runs/:run/rescore': { body: RescoreRequest; answer: RescoreAnswer }
  'GET /api/runs/:run/flags': { answer: FlagsAnswer }
  'POST /api/runs/:run/flags': { body: FlagRequest; answer: FlagsAnswer }
  'POST /api/runs/:run/pairs': { body: PairRequest; answer: FlagsAnswer }
  /** A file to download, one JSON object a line ({@link ExportedSample} or {@link ExportedPair}). */
  'GET /api/runs/:run/export': { query: { what: 'flags' | 'pairs' }; answer: Bytes }
  'GET /api/runs/:run/chat': { answer: ChatModelsAnswer }
  /** A stream of lines, each a {@link ChatLine}. A request that is aborted ends the generation. */
  'POST /api/runs/:run/chat': { body: ChatRequest; answer: Lines<ChatLine> }
  /** Server-sent events: `data` is a {@link LiveEvent}. With `run` also what happens in that run. */
  'GET /api/events': { query: { run?: string }; answer: Lines<LiveEvent> }
}

/** A body that is not JSON. */
export type Bytes = Uint8Array
/** JSON objects that come one after another. */
export type Lines<T> = AsyncIterable<T>
