/** Changes since a stage was made, with option names of the pipeline, and whether the stage may continue. */
import { didYouMean, InputError } from '../errors/index.js'
import type { TrainingName } from '../train/index.js'
import { pipelineShape } from './config.js'
import { extensionNames } from './extensions.js'
import { optionNames } from './stage-configs.js'
import type { InputChange } from './stage-record.js'
import type { StageName } from './stages.js'

/** One change. */
interface StageChange {
  /** As the config calls it: `ppoIterations`, `ppo.gamma`, `sftDataPath`. */
  readonly name: string
  /** A changed initial model: no run can continue from it. */
  readonly kind: 'option' | 'data' | 'function' | 'model'
  readonly from: unknown
  readonly to: unknown
}

export function stageChanges(stage: StageName, training: TrainingName, changes: readonly InputChange[]): StageChange[] {
  const names = Object.entries(optionNames[training])
  const dataName = names.find(([, path]) => path === 'data')![0]
  return changes.map(({ path, from, to }): StageChange => {
    const [kind, ...rest] = path.split('.')
    const option = rest.join('.')
    if (kind === 'functions') {
      const name = extensionNames.some(one => one === option) ? option : `${stage}.${option}`
      return { name, kind: 'function', from, to }
    }
    if (kind === 'data') return { name: dataName, kind, from, to }
    if (kind !== 'config') return { name: kind === 'models' ? `${stage}: ${option}` : path, kind: 'model', from, to }
    if (rest[0] === 'sources') return { name: dataName, kind: 'option', from, to }
    const own = names.find(([, one]) => option === one || option.startsWith(`${one}.`))
    return { name: own ? own[0] : `${stage}.${option}`, kind: 'option', from, to }
  })
}

/** Whether every change is one that the caller allows. `ppo` allows all options of that section. */
export function areAllowed(changes: readonly StageChange[], allowed: readonly string[]): boolean {
  return changes.every(
    ({ name, kind }) => kind !== 'model' && allowed.some(key => name === key || name.startsWith(`${key}.`)),
  )
}

/** The error for a stage to resume that was started with other inputs. */
export function changedError(directory: string, changes: readonly StageChange[]): InputError {
  const lines = changes.map(({ name, kind, from, to }) =>
    kind === 'option' ? `\n  ${name}: was ${shown(from)}, is now ${shown(to)}` : `\n  ${name}: has changed`,
  )
  const flags = [...new Set(changes.map(({ name }) => `--allow-change ${name}`))].join(' ')
  return new InputError(
    `${directory}: options or inputs of this stage have changed since it started:${lines.join('')}`,
    {
      remedy:
        `Undo the change, or accept it: --resume ${flags} (allowChange). Without --resume the stage starts again, ` +
        'and the old results move to previous/.',
    },
  )
}

const shown = (value: unknown): string => (value === undefined ? 'not there' : JSON.stringify(value))

/** A misspelt name would silently allow nothing. */
export function checkAllowed(allowed: readonly string[]): void {
  const known = [...Object.keys(pipelineShape), ...extensionNames]
  const unknown = allowed.filter(key => !known.includes(key.split('.')[0]!))
  if (unknown.length > 0)
    throw new InputError(
      unknown.map(key => `allowChange: there is no option "${key}"${didYouMean(key, known)}`).join('\n'),
    )
}
