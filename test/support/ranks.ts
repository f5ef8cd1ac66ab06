import { type AddressInfo, createServer } from 'node:net'
import { type RankOptions, World } from '../../src/distributed/index.js'
import { atEnd } from './at-end.js'
import { type Child, startChild } from './child.js'
import { compiledRoom } from './compiled.js'

const script = new URL('../distributed/children/rank.mjs', import.meta.url)

export interface StartedRanks {
  readonly world: World
  /** Of ranks 1, 2, ... */
  readonly children: readonly Child[]
}

/** A port that was free just now: rank 0 serves the store there. No connection was made to it, which would keep it for a while. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/**
 * A job of ranks on the CPU: rank 0 in this process, the others in processes of their own. Rank 1 may make a mistake, of those in
 * rank.mjs.
 */
export async function startRanks(
  size: number,
  options: Partial<RankOptions> & { others?: Partial<RankOptions>; mistake?: string } = {},
): Promise<StartedRanks> {
  const { others, mistake = '', rank: _, store: __, ...own } = options
  const port = await freePort()
  const shared: Omit<RankOptions, 'rank' | 'store'> = {
    ...{ size, address: '127.0.0.1', device: 'cpu', backend: 'gloo', job: 'test', limitMs: 60_000 },
    ...own,
  }
  const place = { host: '127.0.0.1', port }
  const index = compiledRoom('distributed')
  const children = Array.from({ length: size - 1 }, (_, i) => {
    const given = { ...shared, rank: i + 1, store: { ...place, served: 'elsewhere' }, ...others }
    return startChild(script, [index, JSON.stringify(given), i === 0 ? mistake : ''])
  })
  const world = await World.open({ ...shared, rank: 0, store: { ...place, served: 'here' } })
  atEnd(() => world.close())
  return { world, children }
}
