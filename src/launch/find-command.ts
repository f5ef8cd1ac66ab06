/** Finds the programs of servers on this machine, and their versions. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { LaunchError } from './errors.js'
import type { EngineType } from './invocation.js'

interface Program {
  readonly label: string
  readonly variable: string
  readonly program: string
  readonly args: readonly string[]
  readonly remedy: string
}

/** How each server is started and installed. */
export const programs: Readonly<Record<EngineType, Program>> = {
  vllm: {
    label: 'vLLM',
    variable: 'WHETSTONE_VLLM',
    program: 'vllm',
    args: [],
    remedy:
      'Install it (python3 -m venv vllm && vllm/bin/pip install vllm) and put its bin/ on the PATH, or set WHETSTONE_VLLM to the `vllm` program.',
  },
  sglang: {
    label: 'SGLang',
    variable: 'WHETSTONE_SGLANG_PYTHON',
    program: 'python3',
    args: ['-m', 'sglang.launch_server'],
    remedy:
      "Install it (python3 -m venv sglang && sglang/bin/pip install sglang) and set WHETSTONE_SGLANG_PYTHON to that environment's `bin/python`.",
  },
}

/** The path of a program, and its first arguments. */
export type Command = readonly [program: string, ...args: string[]]

export async function findCommand(options: {
  type: EngineType
  command: readonly string[] | undefined
  env: NodeJS.ProcessEnv
}): Promise<Command> {
  const { label, variable, program, args, remedy } = programs[options.type]
  const set = options.env[variable] || undefined
  const [name = program, ...rest] = options.command ?? [set ?? program, ...args]
  const found = await findProgram(name, options.env)
  if (found !== undefined) return [found, ...rest]
  const where = name.includes('/') ? 'is not a program that can be run' : 'is not on the PATH'
  const by = options.command === undefined && set !== undefined ? ` (${variable})` : ''
  throw new LaunchError(`${label}: ${name}${by} ${where}`, { remedy })
}

async function findProgram(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const places = name.includes('/')
    ? [resolve(name)]
    : (env.PATH ?? '')
        .split(delimiter)
        .filter(isAbsolute)
        .map(folder => join(folder, name))
  for (const path of places) if (await isProgram(path)) return path
  return undefined
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** Programs of a virtual environment find each other by the PATH, also where it is not activated. */
export function pathWith([program]: Command, env: NodeJS.ProcessEnv): string {
  return [dirname(program), env.PATH].filter(Boolean).join(delimiter)
}

const longestLine = 256
const timeout = 20_000

/**
 * The version of the Python package that a program belongs to, without starting the program: that takes servers many seconds. Undefined
 * where the program is no Python script, or the package is not found.
 */
export async function installedVersion(program: string, name: string): Promise<string | undefined> {
  const python = await interpreterOf(program)
  if (python === undefined) return undefined
  const script = 'import sys; from importlib.metadata import version; print(version(sys.argv[1]))'
  try {
    const { stdout } = await promisify(execFile)(python, ['-c', script, name], { timeout })
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}

async function interpreterOf(program: string): Promise<string | undefined> {
  const file = await open(program).catch(() => undefined)
  if (!file) return undefined
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(longestLine) })
    return /^#!\s*(\/\S*python[\d.]*)\s*$/m.exec(buffer.toString('utf8', 0, bytesRead).split('\n')[0]!)?.[1]
  } finally {
    await file.close()
  }
}
