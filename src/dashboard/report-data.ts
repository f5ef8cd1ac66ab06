/** What a report carries: the answers of the server to all that its page asks. Types alone. */
import type {
  ActsAnswer,
  AlertsAnswer,
  Curve,
  DistributionsAnswer,
  MetricsAnswer,
  RunDetail,
  SampleDetail,
  SampleRow,
  Session,
  StagesAnswer,
  TokensAnswer,
} from './api.js'

export interface ReportData {
  readonly session: Session
  readonly run: RunDetail
  readonly metrics: MetricsAnswer
  readonly curves: readonly Curve[]
  readonly stages: StagesAnswer
  readonly distributions: DistributionsAnswer | null
  readonly alerts: AlertsAnswer
  readonly acts: ActsAnswer
  /** Those that the report shows, of all that there are. */
  readonly rows: readonly SampleRow[]
  readonly samples: number
  readonly components: readonly string[]
  readonly dropReasons: readonly string[]
  readonly details: Readonly<Record<string, SampleDetail>>
  readonly tokens: Readonly<Record<string, TokensAnswer>>
  /** Pictures of samples as `data:` addresses. */
  readonly pictures: Readonly<Record<string, readonly string[]>>
}
