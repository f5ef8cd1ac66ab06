import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../..', import.meta.url))

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** The `whetstone` command as it is installed, on the sources as they are. */
export interface Binary {
  /** An empty directory, and where commands run. */
  folder: string
  run(
    args: readonly string[],
    options?: {
      onStderr?: (text: string, interrupt: () => void) => void
      onStart?: (interrupt: () => void) => void
      /** What `interrupt` sends. Ctrl-C unless said otherwise. */
      signal?: NodeJS.Signals
    },
  ): Promise<Ran>
  remove(): void
}

export function buildBinary(): Binary {
  const root = mkdtempSync(join(tmpdir(), 'whetstone-binary-'))
  for (const name of ['build', 'node_modules']) symlinkSync(join(repository, name), join(root, name))
  cpSync(join(repository, 'install'), join(root, 'install'), { recursive: true })
  cpSync(join(repository, 'package.json'), join(root, 'package.json'))
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const project = join(repository, 'tsconfig.build.json')
  const compiled = spawnSync(process.execPath, [tsc, '-p', project, '--outDir', join(root, 'dist')], {
    encoding: 'utf8',
  })
  if (compiled.status !== 0) throw new Error(`the sources do not compile:\n${compiled.stdout}`)
  const folder = join(root, 'work')
  mkdirSync(folder)

  return {
    folder,
    run: (args, options = {}) =>
      new Promise(resolve => {
        const child = spawn(process.execPath, [join(root, 'install/whetstone.mjs'), ...args], {
          cwd: folder,
          env: { ...process.env, OMP_NUM_THREADS: '1' },
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        options.onStart?.(() => child.kill(options.signal ?? 'SIGINT'))
        const ran: Ran = { code: null, stdout: '', stderr: '' }
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          ran.stdout += text
        })
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          ran.stderr += text
          options.onStderr?.(ran.stderr, () => child.kill(options.signal ?? 'SIGINT'))
        })
        child.on('close', code => resolve({ ...ran, code }))
      }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
