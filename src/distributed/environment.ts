/** Ranks that a launcher started: what torchrun, Slurm and Kubernetes say in the environment of a process. Pure. */
import { InputError } from '../errors/index.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** A process as its launcher describes it. */
export interface LaunchedRank {
  readonly rank: number
  readonly size: number
  /** Its number among the ranks of its machine, and how many those are. */
  readonly localRank: number
  readonly localSize: number
  /** Where the job's store is. */
  readonly master: { readonly host: string; readonly port: number }
  /** Who serves the store: rank 0, or torchrun's agent. */
  readonly store: 'rank 0' | 'agent'
  /** Begins the keys in the store: a restart has others. */
  readonly job: string
}

/** Undefined where no launcher started this process, or one process alone. */
export function launchedRank(env: Environment): LaunchedRank | undefined {
  const found = env.RANK !== undefined && env.WORLD_SIZE !== undefined ? byEnvironment(env) : bySlurm(env)
  if (!found || found.size === 1) return undefined
  const { rank, size, localRank, localSize } = found
  if (rank >= size) throw wrong(`rank ${rank} of a job of ${size}; ranks count from 0`)
  if (localRank >= localSize) throw wrong(`LOCAL_RANK is ${localRank}, and this machine has ${localSize} ranks`)
  return found
}

/** torchrun, Kubernetes' PyTorchJob, Ray, or a person. */
function byEnvironment(env: Environment): LaunchedRank {
  const [rank, size] = [whole(env, 'RANK'), whole(env, 'WORLD_SIZE', { least: 1 })]
  if (size > 1 && (env.MASTER_ADDR === undefined || env.MASTER_PORT === undefined))
    throw wrong(`${env.MASTER_ADDR === undefined ? 'MASTER_ADDR' : 'MASTER_PORT'} is not set`)
  const host = env.MASTER_ADDR ?? '127.0.0.1'
  const port = env.MASTER_PORT === undefined ? 0 : whole(env, 'MASTER_PORT', { least: 1, most: 65_535 })
  // Launchers that say nothing of machines start one process on each, except where all are on this one.
  const local = isLoopback(host) ? { localRank: rank, localSize: size } : { localRank: 0, localSize: 1 }
  const localSize = env.LOCAL_WORLD_SIZE === undefined ? undefined : whole(env, 'LOCAL_WORLD_SIZE', { least: 1 })
  const localRank = env.LOCAL_RANK === undefined ? undefined : whole(env, 'LOCAL_RANK')
  const agent = /^(true|1)$/i.test(env.TORCHELASTIC_USE_AGENT_STORE ?? '')
  return {
    ...{ rank, size, master: { host, port } },
    localRank: localRank ?? local.localRank,
    localSize: localSize ?? Math.max(local.localSize, (localRank ?? 0) + 1),
    store: agent ? 'agent' : 'rank 0',
    job: jobOf(env.TORCHELASTIC_RUN_ID, env.TORCHELASTIC_RESTART_COUNT),
  }
}

/** A step of `srun`. A batch script has SLURM_PROCID too, but it is one process of no step. */
function bySlurm(env: Environment): LaunchedRank | undefined {
  if (env.SLURM_PROCID === undefined || env.SLURM_STEP_ID === undefined) return undefined
  const [tasks] = ['SLURM_STEP_NUM_TASKS', 'SLURM_NTASKS'].filter(name => env[name] !== undefined)
  if (tasks === undefined) return undefined
  const size = whole(env, tasks, { least: 1 })
  if (size === 1) return undefined
  const host = env.MASTER_ADDR ?? firstHost(env.SLURM_STEP_NODELIST ?? env.SLURM_JOB_NODELIST ?? '')
  if (host === undefined) throw wrong('SLURM_STEP_NODELIST names no machine; set MASTER_ADDR to the first one')
  const localRank = env.SLURM_LOCALID === undefined ? 0 : whole(env, 'SLURM_LOCALID')
  const nodes = env.SLURM_STEP_NUM_NODES ?? env.SLURM_NNODES ?? env.SLURM_JOB_NUM_NODES
  const perNode = /^\d+/.exec(env.SLURM_STEP_TASKS_PER_NODE ?? '')
  const localSize = nodes === '1' ? size : Number(perNode?.[0] ?? localRank + 1)
  return {
    ...{ rank: whole(env, 'SLURM_PROCID'), size, localRank, localSize: Math.max(localSize, localRank + 1) },
    master: { host, port: env.MASTER_PORT === undefined ? slurmPort(env) : whole(env, 'MASTER_PORT', { least: 1 }) },
    store: 'rank 0',
    job: jobOf(`${env.SLURM_JOB_ID}.${env.SLURM_STEP_ID}`, env.SLURM_RESTART_COUNT),
  }
}

/** Slurm gives no port. One that follows from job and step is the same on all machines, and another for another job. */
function slurmPort({ SLURM_JOB_ID: job = '0', SLURM_STEP_ID: step = '0' }: Environment): number {
  return 20_000 + ((Number(job) * 7 + Number(step)) % 12_000)
}

/** The first machine of a list such as `gpu[03-07,9],login`. */
export function firstHost(list: string): string | undefined {
  const first = /^(?:[^,[\]]|\[[^\]]*\])+/.exec(list.trim())?.[0]
  return first?.replace(/\[([^\],-]+)[^\]]*\]/g, '$1')
}

const jobOf = (id = 'job', restart = '0'): string => `whetstone/${id}/${restart}`

export const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)

function whole(env: Environment, name: string, { least = 0, most = 1 << 20 } = {}): number {
  const text = env[name] ?? ''
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw wrong(`${name} is ${JSON.stringify(text)}; expected a whole number of at least ${least}`)
  return value
}

function wrong(problem: string): InputError {
  return new InputError(`the launcher's environment: ${problem}`, {
    remedy: 'A launcher sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT for each process.',
  })
}
