import { z } from 'zod'
import type { DeviceChoice, JobMeasures } from '../distributed/index.js'
import { InputError } from '../errors/index.js'
import { bytesText } from '../progress/index.js'
import { packageRoot, readBridgeRecord } from '../setup/index.js'
import type { Device } from '../tensor/index.js'
import { deviceFlag, devicesFlag } from './device-flag.js'
import { type Check, checkArithmetic, type TensorRoom } from './doctor-checks.js'
import { explain } from './explain.js'
import { flagHelp, readFlags, toggle } from './flags.js'

const flags = z.object({
  json: toggle('one JSON object instead of lines'),
  device: deviceFlag,
  devices: devicesFlag,
})

export const help = `Usage: whetstone doctor [--json] [--devices RANKS]

Shows the installation (Node, libtorch and why this one, devices, threads, BLAS, operators) and checks that a
matrix product and a backward pass give the right numbers on every device. Exit code 1 when something is wrong.
With --devices, or under torchrun, Slurm or Kubernetes, it also measures the ranks, each and together.

${flagHelp(flags)}
`

interface Diagnosis {
  ok: boolean
  node: string
  platform: string
  libtorch?: { version: string; path?: string; source?: string; why?: string }
  /** `built`: the libtorch has CUDA; `available`: and there is a device to use it with. */
  cuda?: { built: boolean; available: boolean; graphs: boolean; devices: { name: string; totalBytes: number }[] }
  threads?: number
  blas?: string
  operators?: number
  checks: Check[]
  /** With `--devices`, or under a launcher. */
  ranks?: JobMeasures
}

export async function run(args: string[]): Promise<number> {
  const { json, device, devices } = readFlags(args, flags)
  const diagnosis = await examine(() => import('../tensor/index.js'))
  if (diagnosis.ok) {
    const ranks = await measure({ device, devices })
    if (ranks) diagnosis.ranks = ranks
  }
  console.log(json ? JSON.stringify(diagnosis, null, 2) : describe(diagnosis))
  return diagnosis.ok ? 0 : 1
}

/** Undefined for one process alone, where nothing else was asked for. */
async function measure(choice: DeviceChoice): Promise<JobMeasures | undefined> {
  const { launchedRank, measureRanks, Ranks } = await import('../distributed/index.js')
  if (choice.devices === undefined && !launchedRank(process.env)) return undefined
  const ranks = await Ranks.of(choice)
  try {
    const world = await ranks.world()
    if (!world)
      throw new InputError(`--devices ${JSON.stringify(choice.devices)} is one process alone on ${ranks.device}`, {
        remedy: 'Give the number of ranks, at least 2.',
      })
    return await measureRanks(world)
  } finally {
    await ranks.close()
  }
}

/** Each rank, what they do together, and what is slow. */
export function describeRanks({ ranks, backend, allReduce, slow }: JobMeasures): string[] {
  const rate = (bytes: number): string => `${bytesText(bytes)}/s`
  return [
    ...ranks.map(({ identity: { rank, host, device, build }, gflops, answerMs }) => {
      const versions = `whetstone ${build.whetstone}, libtorch ${build.libtorch}, Node ${build.node}`
      return `rank ${rank}: ${host}, ${device}; ${versions}; ${gflops.toFixed(0)} GFLOP/s; answers in ${answerMs.toFixed(2)} ms`
    }),
    `all-reduce of ${bytesText(allReduce.bytes)} over ${backend}: ${(1000 * allReduce.seconds).toFixed(1)} ms, ${rate(allReduce.busBytesPerSecond)} per rank`,
    ...(slow.length > 0 ? slow.map(one => `slow: ${one}`) : ['no rank is slower than the others']),
  ]
}

/** Collect facts and failed checks and never throw, so that the rest is still reported. */
export async function examine(load: () => Promise<TensorRoom>): Promise<Diagnosis> {
  const host = { node: process.version, platform: `${process.platform}-${process.arch}` }
  let room: TensorRoom
  let facts: ReturnType<TensorRoom['backend']>
  try {
    room = await load()
    facts = room.backend()
  } catch (error) {
    return { ok: false, ...host, checks: [{ name: 'bridge', ok: false, detail: explain(error) }] }
  }
  const record = readBridgeRecord(packageRoot)
  const checks: Check[] = [{ name: 'bridge', ok: true, detail: 'loads' }]
  const built = record?.libtorch.version
  if (built && !facts.libtorchVersion.startsWith(built))
    checks.push({
      name: 'libtorch',
      ok: false,
      detail: `built against ${built}, but ${facts.libtorchVersion} is loaded: run \`npx whetstone setup\``,
    })
  const devices: Device[] = ['cpu', ...facts.cuda.devices.map((_, index) => `cuda:${index}` as const)]
  for (const device of devices) checks.push(...(await checkArithmetic(room, device)))
  return {
    ok: checks.every(check => check.ok),
    ...host,
    libtorch: { ...record?.libtorch, version: facts.libtorchVersion },
    cuda: { built: record?.cuda ?? facts.cuda.available, ...facts.cuda },
    threads: facts.threads,
    blas: parseBlas(facts.config),
    operators: facts.operatorCount,
    checks,
  }
}

/** The library behind matrix products on the CPU, from libtorch's own description of how it was built. */
export function parseBlas(config: string): string {
  const mkl = config.match(/(?:oneAPI )?Math Kernel Library Version ([\d.]+)/)?.[1]
  const name = config.match(/BLAS_INFO=(\w+)/)?.[1]
  if (mkl && (!name || name === 'mkl')) return `MKL ${mkl}`
  if (name) return { mkl: 'MKL', open: 'OpenBLAS', accelerate: 'Accelerate' }[name] ?? name
  return 'none (matrix products on the CPU will be slow)'
}

function describe({ checks, ranks, ...facts }: Diagnosis): string {
  const lines: [string, string][] = [
    ['Node', facts.node],
    ['platform', facts.platform],
  ]
  if (facts.libtorch) {
    const { version, path, why } = facts.libtorch
    lines.push(['libtorch', version])
    if (path) lines.push(['', path], ['', `this one because ${why}`])
  }
  if (facts.cuda) {
    const { built, available, graphs, devices } = facts.cuda
    const absent = built ? 'no usable device (this libtorch has CUDA)' : 'no (this libtorch is for the CPU)'
    lines.push(['CUDA', available ? `yes, ${graphs ? 'with' : 'without'} graphs` : absent])
    for (const { name, totalBytes } of devices) lines.push(['device', `${name}, ${bytesText(totalBytes)}`])
  }
  if (facts.threads !== undefined) lines.push(['threads', String(facts.threads)])
  if (facts.blas) lines.push(['BLAS', facts.blas])
  if (facts.operators !== undefined) lines.push(['operators', facts.operators.toLocaleString('en')])
  return [
    ...lines.map(([name, value]) => `${name.padEnd(10)} ${value}`),
    '',
    ...checks.map(({ name, ok, detail }) => `${ok ? '✓' : '✗'} ${name}: ${detail}`),
    ...(ranks ? ['', ...describeRanks(ranks)] : []),
  ].join('\n')
}
