/** Who is who in a job: ranks, where they are, and what they run. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { backend, type Device } from '../tensor/index.js'

/** How a process takes part in a job. Launchers decide it: see `index.ts`. */
export interface RankOptions {
  readonly rank: number
  /** How many ranks the job has. */
  readonly size: number
  /** Where the job's store is; rank 0 serves it unless another process does (`torchrun`). */
  readonly store: { readonly host: string; readonly port: number; readonly served: 'here' | 'elsewhere' }
  /** The address of this machine that the other ranks reach; 127.0.0.1 where all are on this machine. */
  readonly address: string
  /** Where this rank computes. */
  readonly device: Device
  /** What carries the collectives of tensors: `nccl` where every rank has a GPU of its own, else `gloo`. */
  readonly backend: 'gloo' | 'nccl'
  /** Begins the keys in the store; differs between jobs and restarts that share one. */
  readonly job: string
  /** How long a rank may keep the others waiting. Default 60 s. */
  readonly limitMs?: number
  /** How long ranks wait for each other before all have come. Default: `limitMs`. */
  readonly joinLimitMs?: number
}

export const defaultLimitMs = 60_000

/** The versions that must be the same on every rank: they decide the numbers. */
interface RankBuild {
  readonly whetstone: string
  readonly libtorch: string
  readonly node: string
  readonly arch: string
}

/** A rank as the controller knows it. */
export interface RankIdentity {
  readonly rank: number
  readonly host: string
  readonly pid: number
  readonly device: string
  readonly build: RankBuild
}

/** What a rank says first. */
export const helloSchema = z.strictObject({
  token: z.string(),
  rank: z.int().nonnegative(),
  host: z.string(),
  pid: z.int(),
  device: z.string(),
  build: z.strictObject({ whetstone: z.string(), libtorch: z.string(), node: z.string(), arch: z.string() }),
})

export function identityOf({ rank, device }: Pick<RankOptions, 'rank' | 'device'>): RankIdentity {
  const build = {
    whetstone: packageVersion(),
    libtorch: backend().libtorchVersion,
    node: process.versions.node,
    arch: process.arch,
  }
  return { rank, host: hostname(), pid: process.pid, device, build }
}

/** dist/distributed and src/distributed are equally deep. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** As errors name it. */
export const rankName = ({ rank, host, device, pid }: RankIdentity): string =>
  `rank ${rank} (${host}, ${device}, process ${pid})`
