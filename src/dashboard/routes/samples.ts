/** Samples, groups, distributions: questions to the index of the run. */
import type { SampleColumn } from '../api.js'
import { RequestError } from '../errors.js'
import type { Exchange } from '../exchange.js'
import type { Handler } from './index.js'

/** A page answers within this, complete or not. */
const searchMs = 250
const any = { min: 0, max: Number.MAX_SAFE_INTEGER }

function oneOf<const T extends string>(exchange: Exchange, name: string, values: readonly T[], usual: T): T {
  const given = exchange.query.get(name) ?? usual
  const found = values.find(value => value === given)
  if (found === undefined) throw new RequestError(400, `${name}: expected one of ${values.join(', ')}`)
  return found
}

export const samplesRoute: Handler = async ({ catalog, services, flagsOf }, exchange) => {
  const { directory } = await catalog.run(exchange.parts.run!)
  const service = await services.of(directory)
  return service.ask('samples', {
    where: exchange.query.get('where') ?? '',
    search: (exchange.query.get('search') ?? '').slice(0, 1000),
    sort: (exchange.query.get('sort') ?? 'iteration') as SampleColumn,
    order: oneOf(exchange, 'order', ['ascending', 'descending'], 'descending'),
    offset: exchange.number('offset', { min: 0, max: 1_000_000 }) ?? 0,
    limit: exchange.number('limit', { min: 1, max: 500 }) ?? 50,
    searchMs,
    flags: await flagsOf(directory).all(),
  })
}

export const sampleRoute: Handler = async ({ catalog, services, flagsOf }, { parts }) => {
  const { directory } = await catalog.run(parts.run!)
  const service = await services.of(directory)
  return service.ask('sample', { id: parts.sample!, flags: await flagsOf(directory).all() })
}

export const tokensRoute: Handler = async ({ catalog, services }, { parts }) => {
  const { directory } = await catalog.run(parts.run!)
  return (await services.of(directory)).ask('tokens', { id: parts.sample! })
}

export const mediaRoute: Handler = async ({ catalog, services }, exchange) => {
  const { run, sample, n } = exchange.parts
  const { directory } = await catalog.run(run!)
  if (!/^\d{1,4}$/.test(n!)) throw new RequestError(404, 'the sample has no such picture')
  const bytes = await (await services.of(directory)).ask('media', { id: sample!, n: Number(n) })
  exchange.bytes(200, bytes, { 'content-type': 'image/png', 'cache-control': 'private, max-age=3600' })
}

export const groupsRoute: Handler = async ({ catalog, services, flagsOf }, exchange) => {
  const { directory } = await catalog.run(exchange.parts.run!)
  const service = await services.of(directory)
  return service.ask('groups', {
    iteration: exchange.number('iteration', any),
    sort: oneOf(exchange, 'sort', ['spread', 'best', 'worst', 'order'], 'spread'),
    offset: exchange.number('offset', any) ?? 0,
    limit: exchange.number('limit', { min: 1, max: 100 }) ?? 20,
    flags: await flagsOf(directory).all(),
  })
}

export const distributionsRoute: Handler = async ({ catalog, services }, exchange) => {
  const { directory } = await catalog.run(exchange.parts.run!)
  const service = await services.of(directory)
  const columns = exchange.number('columns', { min: 1, max: 1000 }) ?? 200
  return service.ask('distributions', { columns, bins: exchange.number('bins', { min: 2, max: 200 }) ?? 32 })
}
