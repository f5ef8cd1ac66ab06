/** Ranks that a launcher starts, as a person, Slurm or Kubernetes would: each process gets its environment, and nothing else. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Child, type Ended, runWhetstone, startWhetstone } from '../support/child.js'
import { jsonl, temporaryDirectory } from '../support/files.js'
import { machinesProblem, twoMachines } from '../support/machines.js'
import { freePort } from '../support/ranks.js'
import { modelDirectory } from '../support/tiny-model.js'

/** Their processes are looked at in /proc. */
const onLinux = test.skipIf(process.platform !== 'linux')
const folder = temporaryDirectory()
const rows = jsonl(
  Array.from({ length: 8 }, (_, i) => ({ prompt: `Question ${i}?`, completion: 'yes '.repeat(i + 1) })),
)
const machinesMissing = machinesProblem()
let options: string[]
beforeAll(async () => {
  const model = await modelDirectory(1, { context: 64 })
  options = ['--model', model, '--data', rows, '--batch-size', '3', '--max-length', '40', '--chat-template', 'none']
  const own = await runWhetstone(['sft', ...options, '--device', 'cpu', '--devices', '2', '--output', 'own'], at)
  expect(own.code, own.output).toBe(0)
})
afterAll(() => {
  if (machinesMissing) console.info(`ranks on two machines were not tried: ${machinesMissing}`)
})

const at = { cwd: folder, timeout: 100_000 }
const weights = (run: string): Buffer => readFileSync(join(folder, run, 'final_model/model.safetensors'))
const training = (output: string): string[] => ['sft', ...options, '--device', 'cpu', '--output', output]

type Environment = Readonly<Record<string, string>>
const start = (args: readonly string[], env: Environment, enter: readonly string[] = []): Child => {
  const child = startWhetstone(args, { ...at, env, enter })
  child.process.stdin.end()
  return child
}
const ends = (children: readonly Child[]): Promise<Ended[]> => Promise.all(children.map(({ ended }) => ended))

const byHand = async (size: number): Promise<Environment[]> => {
  const shared = { WORLD_SIZE: String(size), MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(await freePort()) }
  return Array.from({ length: size }, (_, rank) => ({ ...shared, RANK: String(rank), LOCAL_RANK: String(rank) }))
}

describe('two processes on one machine come to the bits of a command that starts its ranks itself', () => {
  test.each<[string, () => Promise<Environment[]>]>([
    ['by hand', () => byHand(2)],
    [
      'Slurm',
      async () =>
        [0, 1].map(rank => ({
          ...{ SLURM_PROCID: String(rank), SLURM_LOCALID: String(rank), SLURM_NTASKS: '2', SLURM_NNODES: '1' },
          ...{ SLURM_JOB_ID: String(process.pid), SLURM_STEP_ID: '0', SLURM_STEP_NODELIST: 'localhost' },
        })),
    ],
  ])('%s', async (name, environments) => {
    const children = (await environments()).map(env => start(training(name), env))
    const [first, second] = await ends(children)
    expect(first!.code, first!.output).toBe(0)
    expect(second, first!.output).toMatchObject({ code: 0, stdout: '' })
    expect(weights(name)).toEqual(weights('own'))
  })
})

/** Addresses that sockets of a process listen on, in the hexadecimal words of /proc; none when it has ended. */
function listening({ process: { pid } }: Child): string[] {
  try {
    const files = readdirSync(`/proc/${pid}/fd`).map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`))
    const inodes = files.flatMap(file => /^socket:\[(\d+)\]$/.exec(file)?.[1] ?? [])
    const lines = ['tcp', 'tcp6'].flatMap(kind => readFileSync(`/proc/${pid}/net/${kind}`, 'utf8').split('\n'))
    const sockets = lines.map(line => line.trim().split(/\s+/)).filter(words => words[3] === '0A')
    return sockets.filter(words => inodes.includes(words[9]!)).map(words => words[1]!.split(':')[0]!)
  } catch {
    return []
  }
}
const asWord = (address: string): string =>
  Buffer.from(address.split('.').map(Number)).reverse().toString('hex').toUpperCase()

test.skipIf(machinesMissing !== undefined)(
  'a PyTorchJob: one process on each of two machines, and nothing listens but on the network of the job',
  async () => {
    const machines = twoMachines()
    const shared = { WORLD_SIZE: '2', MASTER_ADDR: machines[0].address, MASTER_PORT: '29500' }
    const children = machines.map(({ enter }, rank) =>
      start(training('pods'), { ...shared, RANK: String(rank) }, enter),
    )
    await children[0]!.waitFor(/step|sft/)
    const seen = new Set<string>()
    const look = setInterval(() => {
      for (const word of children.flatMap(listening)) seen.add(word)
    }, 20)
    const [first, second] = await ends(children)
    clearInterval(look)
    expect(first!.code, first!.output).toBe(0)
    expect(second!.code, second!.output).toBe(0)
    expect(weights('pods')).toEqual(weights('own'))
    expect(seen).toContain(asWord(machines[0].address))
    expect(machines.map(({ address }) => asWord(address))).toEqual(expect.arrayContaining([...seen]))
  },
)

onLinux('on one machine everything listens on loopback', async () => {
  const child = start([...training('loopback'), '--devices', '2', '--epochs', '20'], {})
  await child.waitFor(/step \d|\d+\/\d+/)
  const seen = listening(child)
  expect(seen.length).toBeGreaterThan(0)
  expect(new Set(seen)).toEqual(new Set([asWord('127.0.0.1')]))
  await child.kill('SIGTERM')
})

test('doctor measures the ranks of a launcher, and those of --devices', async () => {
  const children = (await byHand(2)).map(env => start(['doctor'], env))
  const [first, second] = await ends(children)
  expect(first!.code, first!.output).toBe(0)
  expect(second).toMatchObject({ code: 0, stdout: '' })
  for (const rank of [0, 1])
    expect(first!.stdout).toMatch(
      new RegExp(`^rank ${rank}: .*, cpu; whetstone .*, libtorch .*, Node .*; \\d+ GFLOP/s; answers in`, 'm'),
    )
  expect(first!.stdout).toMatch(/^all-reduce of 34 MB over gloo: .* ms, .*\/s per rank$/m)
  const own = await runWhetstone(['doctor', '--json', '--device', 'cpu', '--devices', '2'], at)
  expect(JSON.parse(own.stdout)).toMatchObject({ ok: true, ranks: { backend: 'gloo', ranks: [{}, {}] } })
  const alone = await runWhetstone(['doctor', '--device', 'cpu', '--devices', '1'], at)
  expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining('is one process alone on cpu') })
})

test('a mistake in the config ends all ranks, and each says why', async () => {
  const wrong = [...training('wrong'), '--model', 'nowhere']
  const [first, second] = await ends((await byHand(2)).map(env => start(wrong, env)))
  expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('nowhere') })
  expect(second!.code).toBe(1)
  expect(second!.stderr).toContain('the controller (rank 0) has stopped the job')
})

test('Ctrl-C ends ranks that wait for others: rank 0, and one whose rank 0 is not there', async () => {
  const [[zero], [, one]] = await Promise.all([byHand(2), byHand(2)])
  const interrupted = async (env: Environment, begun: RegExp): Promise<void> => {
    const child = start(training('waiting'), env)
    await child.waitFor(begun)
    // Until it waits, or the machine is very slow: then the signal ends it by itself.
    await delay(2000)
    const { code, signal, output } = await child.kill('SIGINT')
    if (signal !== 'SIGINT') expect(code, output).toBe(130)
  }
  await Promise.all([interrupted(zero!, /checking/), interrupted(one!, /starting/)])
})

test('a rank that never comes is named, and the ranks that came end', async () => {
  const [first, second] = await byHand(3)
  const limits = { WHETSTONE_JOIN_LIMIT: '4' }
  const found = await ends([first!, second!].map(env => start(training('late'), { ...env, ...limits })))
  expect(found.map(({ code }) => code)).toEqual([1, 1])
  expect(found[0]!.stderr).toContain('rank 2 has not joined within 4 s')
})
