/** An MLflow server in this process: the requests of a run, the limits of the real one, and faults. It keeps every point that it is sent. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd } from '../at-end.js'

export interface Point {
  readonly key: string
  readonly value: number | string
  readonly timestamp: number
  readonly step: number
}

export interface DoubleRun {
  readonly id: string
  readonly experiment: string
  readonly name: string
  status: string
  readonly points: Point[]
  readonly params: Map<string, string>
  readonly tags: Map<string, string>
}

interface Pair {
  readonly key: string
  readonly value: string
}

class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const invalid = (message: string): never => {
  throw new Refused(400, 'INVALID_PARAMETER_VALUE', message)
}

export class MlflowDouble {
  readonly experiments = new Map<string, string>()
  readonly runs: DoubleRun[] = []
  readonly artifacts = new Map<string, string>()
  readonly requests: string[] = []
  readonly authorizations: (string | undefined)[] = []
  /** What happens to the next request: `drop` closes the connection before the work, `lose` after it, `500` refuses. */
  fault: (path: string) => 'drop' | 'lose' | '500' | undefined = () => undefined
  /** Milliseconds before each answer. */
  delay = 0
  paramLength = 6000
  #server: Server | undefined
  #port = 0

  static async start(): Promise<MlflowDouble> {
    const double = new MlflowDouble()
    await double.listen()
    atEnd(() => double.close())
    return double
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** On the port that it had before, if it was closed. */
  async listen(): Promise<void> {
    this.#server = createServer((request, response) => void this.#answer(request, response))
    await new Promise<void>(resolve => this.#server!.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    server?.closeAllConnections()
    if (server) await new Promise(resolve => server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, this.url)
    const path = pathname.replace('/api/2.0/', '')
    this.requests.push(path)
    this.authorizations.push(request.headers.authorization)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const fault = this.fault(path)
    if (fault === 'drop') return void response.destroy()
    try {
      if (fault === '500') throw new Refused(500, 'INTERNAL_ERROR', 'the database is locked')
      const answer = this.#work(path, { ...Object.fromEntries(searchParams), ...bodyOf(path, chunks) }, chunks)
      await new Promise(resolve => setTimeout(resolve, this.delay))
      if (fault === 'lose') return void response.destroy()
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    } catch (error) {
      const { status, code, message } = error instanceof Refused ? error : new Refused(500, 'BUG', String(error))
      response.writeHead(status).end(JSON.stringify({ error_code: code, message }))
    }
  }

  #work(path: string, given: Record<string, unknown>, chunks: readonly Buffer[]): object {
    if (path.startsWith('mlflow-artifacts/artifacts/')) {
      this.artifacts.set(decodeURIComponent(path.slice(27)), Buffer.concat(chunks).toString())
      return {}
    }
    switch (path.replace('mlflow/', '')) {
      case 'experiments/get-by-name': {
        const id = this.experiments.get(String(given.experiment_name))
        if (id === undefined) throw new Refused(404, 'RESOURCE_DOES_NOT_EXIST', 'no such experiment')
        return { experiment: { experiment_id: id } }
      }
      case 'experiments/create':
        this.experiments.set(String(given.name), String(this.experiments.size + 1))
        return { experiment_id: String(this.experiments.size) }
      case 'runs/create': {
        const tags = new Map((given.tags as Pair[]).map(({ key, value }) => [key, value]))
        const id = `run${this.runs.length + 1}`
        const [experiment, name] = [String(given.experiment_id), String(given.run_name)]
        this.runs.push({ id, experiment, name, status: 'RUNNING', points: [], params: new Map(), tags })
        return { run: described(this.runs.at(-1)!) }
      }
      case 'runs/search': {
        const wanted = /'(.*)'/.exec(String(given.filter))![1]
        return { runs: this.runs.filter(({ tags }) => tags.get('whetstone.run') === wanted).map(described) }
      }
      case 'runs/get':
        return { run: described(this.#run(given)) }
      case 'runs/update':
        this.#run(given).status = String(given.status)
        return {}
      case 'runs/log-batch':
        return this.#logBatch(this.#run(given), given)
      default:
        throw new Refused(404, 'ENDPOINT_NOT_FOUND', path)
    }
  }

  #run({ run_id }: Record<string, unknown>): DoubleRun {
    const run = this.runs.find(({ id }) => id === run_id)
    if (!run) throw new Refused(404, 'RESOURCE_DOES_NOT_EXIST', `no run ${String(run_id)}`)
    return run
  }

  #logBatch(run: DoubleRun, given: Record<string, unknown>): object {
    const { metrics = [], params = [], tags = [] } = given as { metrics?: Point[]; params?: Pair[]; tags?: Pair[] }
    if (metrics.length > 1000 || params.length > 100 || tags.length > 100) invalid('too many in one request')
    for (const { key } of [...metrics, ...params, ...tags])
      if (!/^[\w\-./: ]{1,250}$/.test(key)) invalid(`invalid name ${key}`)
    for (const { value } of metrics)
      if (typeof value !== 'number' && !['NaN', 'Infinity', '-Infinity'].includes(value)) invalid('not a number')
    for (const { key, value } of params) {
      if (value.length > this.paramLength) invalid(`${key} is longer than ${this.paramLength}`)
      if (run.params.has(key) && run.params.get(key) !== value) invalid(`${key} cannot change`)
    }
    run.points.push(...metrics)
    for (const { key, value } of params) run.params.set(key, value)
    for (const { key, value } of tags) run.tags.set(key, value)
    return {}
  }
}

function bodyOf(path: string, chunks: readonly Buffer[]): Record<string, unknown> {
  const text = path.startsWith('mlflow-artifacts') ? '' : Buffer.concat(chunks).toString()
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

function described({ id, experiment, status, points, params }: DoubleRun): object {
  const last = new Map<string, Point>()
  for (const point of points) if (!(point.step < (last.get(point.key)?.step ?? -1))) last.set(point.key, point)
  return {
    info: { run_id: id, status, artifact_uri: `mlflow-artifacts:/${experiment}/${id}/artifacts` },
    data: { metrics: [...last.values()], params: [...params].map(([key, value]) => ({ key, value })) },
  }
}
