/** Files of a user that a config names: definitions and loggers. */
import { access } from 'node:fs/promises'
import { InputError } from '../../errors/index.js'
import { importModule, type ModuleExports } from '../../files/index.js'

/** What a module exports by default. A module runs with all that this process may do, so only your own should be given. */
export async function defaultExport(path: string): Promise<unknown> {
  await access(path).catch(cause => {
    throw new InputError(`${path}: there is no such file`, { cause })
  })
  const { default: main } = await importModule(path, await ownModules()).catch((cause: unknown) => {
    const [message] = (cause instanceof Error ? cause.message : String(cause)).split('\n')
    throw new InputError(`${path}: the module cannot be loaded: ${message}`, { cause })
  })
  return main
}

/** This package as the file sees it: it is found from wherever the file lies, and it is this very one. */
async function ownModules(): Promise<Record<string, ModuleExports>> {
  const [maths, train, rollout, model, text, data, reward, environment, serve, run, errors, zod] = await Promise.all([
    import('../../maths/index.js'),
    import('../library.js'),
    import('../../rollout/index.js'),
    import('../../model/index.js'),
    import('../../text/index.js'),
    import('../../data/index.js'),
    import('../../reward/index.js'),
    import('../../environment/index.js'),
    import('../../serve/index.js'),
    import('../../run/index.js'),
    import('../../errors/index.js'),
    import('zod'),
  ])
  const rooms = { maths, train, rollout, model, text, data, reward, environment, serve, run, errors }
  const named = Object.entries(rooms).map(([name, exports]) => [`whetstone/${name}`, { ...exports }] as const)
  const all = Object.assign({}, ...Object.values(rooms)) as ModuleExports
  return { ...Object.fromEntries(named), whetstone: all, zod: { ...zod } }
}

/** For errors: what a module exports in place of what was expected. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'none'
  if (typeof value === 'object' && value !== null && 'score' in value && 'limits' in value) return 'a reward'
  return value === null ? 'null' : `a value of type ${typeof value}`
}
