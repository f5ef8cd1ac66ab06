/** How fast the ranks of a job are, alone and together: what `whetstone doctor` shows. */
import { type Device, type ProcessGroup, scope, Tensor } from '../tensor/index.js'
import type { Handlers } from './peer.js'
import type { RankIdentity } from './rank.js'
import type { Membership, World } from './world.js'

export interface RankMeasures {
  readonly identity: RankIdentity
  /** Billions of float32 operations per second, of a matrix product. */
  readonly gflops: number
  /** Milliseconds of a question to the rank and its answer; 0 for rank 0 itself. */
  readonly answerMs: number
}

export interface JobMeasures {
  readonly ranks: readonly RankMeasures[]
  readonly backend: 'gloo' | 'nccl'
  readonly allReduce: {
    readonly bytes: number
    readonly seconds: number
    /** Bytes per second that each rank sends, as in NCCL's tests: 2 (W - 1) / W of the tensor in this time. */
    readonly busBytesPerSecond: number
  }
  /** What is slower than the rest, in words. */
  readonly slow: readonly string[]
}

const [rounds, edge] = [3, 768]
const reducedBytes = 32 << 20

/** The fastest of some rounds: the others had to share the machine. */
async function matrixProduct(device: Device): Promise<number> {
  const numbers = new Float32Array(edge * edge).fill(0.5)
  const one = Tensor.from(numbers, { shape: [edge, edge], dtype: 'float32', device })
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now()
    const product = scope(() => one.matmul(one).sum())
    // The answer of the device, and with it its end.
    await product.data()
    product.dispose()
    if (round > 0) best = Math.min(best, performance.now() - started)
  }
  one.dispose()
  return (2 * edge ** 3) / (best / 1000) / 1e9
}

async function allReduces(group: ProcessGroup, device: Device): Promise<number> {
  const tensor = Tensor.from(new Float32Array(reducedBytes / 4), {
    shape: [reducedBytes / 4],
    dtype: 'float32',
    device,
  })
  let best = Number.POSITIVE_INFINITY
  try {
    for (let round = 0; round <= rounds; round++) {
      await group.barrier()
      const started = performance.now()
      await group.allReduce(tensor)
      if (round > 0) best = Math.min(best, performance.now() - started)
    }
  } finally {
    tensor.dispose()
  }
  return best / 1000
}

/** What the controller may ask a rank for. */
export function measureHandlers({ identity, group }: Pick<Membership, 'identity' | 'group'>): Handlers {
  const device = identity.device as Device
  return {
    'measure.answer': async () => undefined,
    'measure.product': async () => ({ body: await matrixProduct(device) }),
    'measure.allReduce': async () => ({ body: await allReduces(group, device) }),
  }
}

/** The ranks one after another, so that ranks of one machine do not slow each other; then all together. */
export async function measureRanks(world: World): Promise<JobMeasures> {
  return world.explained(async () => {
    const device = world.identity.device as Device
    const ranks: RankMeasures[] = [{ identity: world.identity, gflops: await matrixProduct(device), answerMs: 0 }]
    for (const [i, peer] of world.peers.entries()) {
      let answerMs = Number.POSITIVE_INFINITY
      for (let round = 0; round < 10; round++) {
        const started = performance.now()
        await peer.ask('measure.answer', null)
        answerMs = Math.min(answerMs, performance.now() - started)
      }
      const { body } = await peer.ask('measure.product', null)
      ranks.push({ identity: world.ranks[i + 1]!, gflops: body as number, answerMs })
    }
    const seconds = await world.inTurn(async () => {
      const others = world.askOthers('measure.allReduce', null)
      const [own] = await Promise.all([allReduces(world.group, device), others])
      return own
    })
    const { size } = world
    const busBytesPerSecond = (reducedBytes * 2 * (size - 1)) / size / seconds
    const allReduce = { bytes: reducedBytes, seconds, busBytesPerSecond }
    return { ranks, backend: world.group.backend, allReduce, slow: slowParts(ranks, allReduce) }
  })
}

/** What keeps the others waiting. Pure. */
export function slowParts(ranks: readonly RankMeasures[], { bytes, seconds }: JobMeasures['allReduce']): string[] {
  const fastest = Math.max(...ranks.map(({ gflops }) => gflops))
  const slow = ranks.flatMap(({ identity, gflops, answerMs }) => {
    const who = `rank ${identity.rank} (${identity.host}, ${identity.device})`
    const found: string[] = []
    if (gflops < 0.7 * fastest)
      found.push(
        `${who} computes at ${Math.round((100 * gflops) / fastest)} % of the fastest rank: all others wait for it in every step`,
      )
    if (answerMs > 5)
      found.push(`${who} answers after ${answerMs.toFixed(1)} ms: its network is slow, or its machine is busy`)
    return found
  })
  const perGigabyte = seconds / (bytes / 1e9)
  if (ranks.length > 1 && perGigabyte > 2)
    slow.push(
      `an all-reduce takes ${perGigabyte.toFixed(1)} s per GB of gradients: ${new Set(ranks.map(({ identity }) => identity.host)).size > 1 ? 'the network between the machines is slow' : 'the processors are busy, or too few for the ranks'}`,
    )
  return slow
}
