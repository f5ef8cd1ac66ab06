import type { TrainingName } from '../train/index.js'
/** A verb's module: one file each, loaded only when it is called. */
export interface Verb {
  /** The text of `--help`; for a verb with several actions it depends on the arguments. */
  help: string | ((args: readonly string[]) => string)
  /** Resolves to the exit code. */
  run(args: string[]): Promise<number>
}

interface VerbEntry {
  name: string
  /** One line; with its name at most 80 columns wide. */
  summary: string
  /** Its work, or only loading its code, may take longer than a second: with options, or also without any. */
  takesLong?: 'with options' | 'always'
  load: () => Promise<Verb>
}

interface VerbGroup {
  /** The task that its verbs are for. */
  title: string
  verbs: readonly VerbEntry[]
}

/** A verb; its module is loaded only when it is used. */
const verb = (name: string, summary: string, load: VerbEntry['load']): VerbEntry => ({ name, summary, load })
const longVerb = (...parts: Parameters<typeof verb>): VerbEntry => ({ ...verb(...parts), takesLong: 'with options' })

const training = (name: TrainingName) => async (): Promise<Verb> => {
  const { trainCommand } = await import('./train-command.js')
  return trainCommand(name)
}

/** All verbs, grouped by task in the order of use. */
export const verbGroups: readonly VerbGroup[] = [
  {
    title: 'Start',
    verbs: [
      verb('doctor', 'check the installation and its devices', () => import('./doctor.js')),
      verb('setup', 'find or download libtorch and build the bridge to it', () => import('./setup.js')),
      longVerb('download', 'fetch a model or a data set of the Hugging Face Hub', () => import('./download.js')),
      {
        ...verb('demo', 'SFT, a reward model, PPO and GRPO from scratch', () => import('./demo.js')),
        takesLong: 'always',
      },
    ],
  },
  {
    title: 'Make',
    verbs: [
      verb('tokenizer', 'train a small tokenizer with chat tokens', () => import('./tokenizer.js')),
      verb('init', 'make a model with random weights', () => import('./init.js')),
      longVerb('import', 'make a model directory of a GGUF file', () => import('./import.js')),
      longVerb('generate', 'generate responses to a file of prompts', () => import('./generate.js')),
      longVerb('score', 'compute log-probabilities or reward scores of a file', () => import('./score.js')),
      longVerb('experience', 'sample responses, score them and compute advantages', () => import('./experience.js')),
      longVerb('episode', 'run a few episodes of a config and show them', () => import('./episode.js')),
      verb('advantages', 'recompute advantages from saved samples', () => import('./advantages.js')),
    ],
  },
  {
    title: 'Train',
    verbs: [
      verb('new', 'write a config with comments', () => import('./new.js')),
      longVerb('sft', 'fine-tune a model on conversations', training('sft')),
      longVerb('reward', 'train a reward model, or test a reward', () => import('./reward.js')),
      longVerb('rl', 'train with rewards; also: grpo, ppo, rloo, dapo, gspo, ...', training('rl')),
      longVerb('dpo', 'train on preferences; also: ipo, kto', training('preference')),
      longVerb('pipeline', 'SFT, a reward model and PPO, one after another', () => import('./pipeline.js')),
      longVerb('export', 'write a model as a GGUF file or a directory', () => import('./export.js')),
      longVerb('push', 'upload a model or a data set to the Hugging Face Hub', () => import('./push.js')),
      verb('schema', 'print the JSON Schema of a config, for editors', () => import('./schema.js')),
    ],
  },
  {
    title: 'Look',
    verbs: [
      verb(
        'explain',
        'describe a loss, estimator, preset or generator of a file',
        () => import('./explain-definition.js'),
      ),
      verb('data', 'show the contents of a data file', () => import('./data.js')),
      verb('runs', 'list training runs, or compare two', () => import('./runs.js')),
      verb('plot', 'draw curves of training runs', () => import('./plot.js')),
      verb('dashboard', 'open a page over training runs, and act on them', () => import('./dashboard.js')),
      verb('watch', 'follow a training run in a terminal', () => import('./watch.js')),
      longVerb('samples', 'list samples of a training run', () => import('./samples.js')),
      longVerb('report', 'write a run as one HTML file that opens offline', () => import('./report.js')),
      longVerb('eval', 'measure a model: perplexity, reward, accuracy, win rate', () => import('./eval.js')),
      longVerb('replay', 'recompute the batches of a run and compare them', () => import('./replay.js')),
    ],
  },
  {
    title: 'Serve',
    verbs: [
      longVerb('chat', 'chat with a model', () => import('./chat.js')),
      longVerb('serve', 'serve a model with the OpenAI API', () => import('./serve.js')),
      verb('engine', 'start a vLLM or SGLang server for a run', () => import('./engine.js')),
    ],
  },
]

/** Whether a command line names a verb and does not ask for its help, from what is known before any code of the verb is loaded. */
export function doesWork([name = '', ...rest]: readonly string[]): boolean {
  if (rest.some(arg => arg === '--help' || arg === '-h')) return false
  return verbs.some(one => one.name === name) || knownKin.has(name)
}

/** Whether it may take longer than a second, too. */
export function takesLong(args: readonly string[]): boolean {
  const [name = '', ...rest] = args
  const long = knownKin.has(name) ? 'with options' : verbs.find(one => one.name === name)?.takesLong
  return doesWork(args) && (long === 'always' || (long === 'with options' && rest.length > 0))
}

/** Names of verbs that come from the trainings. The first line of a command does not wait for those to be loaded. */
export const knownKin: ReadonlySet<string> = new Set([
  ...['reward-model', 'ipo', 'kto', 'ppo', 'grpo', 'rloo', 'reinforce', 'reinforce++', 'reinforce_baseline'],
  ...['reinforce-baseline', 'dr_grpo', 'dr-grpo', 'dapo', 'gspo', 'gmpo', 'cispo', 'cpgd'],
])

/** Whether a command computes with ranks, so that a launcher starts it on several processes. */
export function hasRanks([name = '', ...rest]: readonly string[]): boolean {
  if (!doesWork([name, ...rest])) return false
  return name === 'reward' ? rest[0] === 'train' : knownKin.has(name) || rankVerbs.has(name)
}

const rankVerbs: ReadonlySet<string> = new Set([
  ...['sft', 'rl', 'dpo', 'pipeline', 'generate', 'score', 'experience', 'eval', 'serve', 'doctor'],
])

/** Names of such verbs. */
export async function kinNames(): Promise<string[]> {
  const { trainings } = await import('../train/index.js')
  return Object.values(trainings).flatMap(({ kin }) => Object.keys(kin))
}

/**
 * A verb that is a training with some of its options set, such as `grpo`: from the trainings themselves, which are loaded only for
 * such a verb. Names may have hyphens for underscores.
 */
export async function kinVerb(name: string): Promise<VerbEntry | undefined> {
  const { trainings } = await import('../train/index.js')
  for (const training of Object.values(trainings)) {
    const found = Object.keys(training.kin).find(one => one === name || one.replaceAll('_', '-') === name)
    if (found === undefined) continue
    const load = async (): Promise<Verb> => (await import('./train-command.js')).trainCommand(training.name, found)
    return { name: found, summary: training.about, takesLong: 'with options', load }
  }
  return undefined
}

export const verbs: readonly VerbEntry[] = verbGroups.flatMap(group => group.verbs)
