import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Report } from '../progress/index.js'
import { diskFull } from './errors.js'
import { runProcess } from './process.js'

/** Why pip did not deliver, in a few words. */
export class PipError extends Error {
  override readonly name = 'PipError'
}

/** The command that starts pip, or undefined. */
export async function findPip(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string[] | undefined> {
  for (const [command = '', ...args] of [['python3', '-m', 'pip'], ['pip3'], ['pip']]) {
    const result = await runProcess(command, [...args, '--version'], { env, signal, timeoutMs: 30_000 })
    if (result.kind === 'exited' && result.code === 0) return [command, ...args]
  }
  return undefined
}

interface PipDownload {
  pip: string[]
  requirements: string[]
  /** Whether the requirements' own requirements come along. */
  dependencies: 'left out' | 'included'
  into: string
  label: string
  env: NodeJS.ProcessEnv
  report: Report
  signal: AbortSignal
}

/** Lets pip choose, fetch and verify wheels. Resuming and caching are pip's own; what it leaves in `into` is complete. */
export async function pipDownload(options: PipDownload): Promise<string[]> {
  const { pip, requirements, into, env, report, signal } = options
  const [command = '', ...args] = pip
  // pip's temporary files go beside the result: /tmp is often too small for them, and there they are cleaned up with the rest.
  const temporary = join(into, '.pip')
  await mkdir(temporary, { recursive: true })
  const transfer = report.transfer(options.label)
  let announced = 0
  const watch = setInterval(async () => transfer.at(await wheelBytes(into), announced || undefined), 500)
  try {
    const result = await runProcess(
      command,
      [
        ...args,
        'download',
        ...(options.dependencies === 'left out' ? ['--no-deps'] : []),
        '--only-binary=:all:',
        '--disable-pip-version-check',
        '--no-input',
        '--progress-bar=off',
        `--dest=${into}`,
        ...requirements,
      ],
      {
        env: { ...env, TMPDIR: temporary },
        signal,
        onLine: line => {
          announced += announcedSize(line)
        },
      },
    )
    if (result.kind === 'missing') throw new PipError('pip disappeared')
    if (/No space left on device|Disk quota exceeded/.test(result.output)) throw diskFull(into)
    if (result.code !== 0) throw new PipError(pipComplaint(result.output))
    return (await readdir(into)).filter(name => name.endsWith('.whl')).map(name => join(into, name))
  } finally {
    clearInterval(watch)
    transfer.end()
    await rm(temporary, { recursive: true, force: true })
  }
}

/** `Downloading torch-2.13.0-....whl (526.6 MB)` */
function announcedSize(line: string): number {
  const match = line.match(/Downloading .*\(([\d.]+) ([kMG]?B)\)/)
  return match ? Number(match[1]) * ({ B: 1, kB: 1e3, MB: 1e6, GB: 1e9 }[match[2] ?? 'B'] ?? 1) : 0
}

function pipComplaint(output: string): string {
  const errors = output.split('\n').filter(line => /^ERROR:/.test(line))
  if (
    /Failed to establish a new connection|NameResolution|Temporary failure in name|timed out|ProxyError/i.test(output)
  )
    return 'pip cannot reach its package index'
  if (/No matching distribution/i.test(output))
    return `${errors.at(-1)?.replace('ERROR: ', 'pip: ')} for this Python and system`
  return `pip failed: ${errors.at(-1)?.slice(7) ?? output.trim().split('\n').at(-1) ?? 'it said nothing'}`
}

/** pip writes a wheel among its temporary files and then copies it to its place: each name counts once. */
async function wheelBytes(folder: string): Promise<number> {
  const sizes = new Map<string, number>()
  for (const path of await readdir(folder, { recursive: true }).catch(() => [])) {
    const size = (await stat(join(folder, path)).catch(() => undefined))?.size ?? 0
    const name = basename(path)
    if (name.endsWith('.whl')) sizes.set(name, Math.max(size, sizes.get(name) ?? 0))
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}
