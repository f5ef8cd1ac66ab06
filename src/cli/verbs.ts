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
  /** Its work, or only loading its code, may take longer than a second. */
  takesLong?: true
  load: () => Promise<Verb>
}

interface VerbGroup {
  /** The task that its verbs are for. */
  title: string
  verbs: readonly VerbEntry[]
}

/** The command of a training: loaded only when it is used. */
const training = (name: TrainingName) => async (): Promise<Verb> => {
  const { trainCommand } = await import('./train-command.js')
  return trainCommand(name)
}

/** All verbs, grouped by task in the order of use. */
export const verbGroups: readonly VerbGroup[] = [
  {
    title: 'Start',
    verbs: [
      {
        name: 'doctor',
        summary: 'check the installation and its devices',
        load: () => import('./doctor.js'),
      },
      {
        name: 'setup',
        summary: 'find or download libtorch and build the bridge to it',
        load: () => import('./setup.js'),
      },
      {
        name: 'download',
        summary: 'fetch a model or a data set of the Hugging Face Hub',
        load: () => import('./download.js'),
      },
      {
        name: 'demo',
        summary: 'SFT, a reward model, PPO and GRPO from scratch',
        takesLong: true,
        load: () => import('./demo.js'),
      },
    ],
  },
  {
    title: 'Make',
    verbs: [
      { name: 'tokenizer', summary: 'train a small tokenizer with chat tokens', load: () => import('./tokenizer.js') },
      { name: 'init', summary: 'make a model with random weights', load: () => import('./init.js') },
      {
        name: 'import',
        summary: 'make a model directory of a GGUF file',
        takesLong: true,
        load: () => import('./import.js'),
      },
      {
        name: 'generate',
        summary: 'generate responses to a file of prompts',
        takesLong: true,
        load: () => import('./generate.js'),
      },
      {
        name: 'score',
        summary: 'compute log-probabilities or reward scores of a file',
        takesLong: true,
        load: () => import('./score.js'),
      },
      {
        name: 'experience',
        summary: 'sample responses, score them and compute advantages',
        takesLong: true,
        load: () => import('./experience.js'),
      },
      {
        name: 'advantages',
        summary: 'recompute advantages from saved samples',
        load: () => import('./advantages.js'),
      },
    ],
  },
  {
    title: 'Train',
    verbs: [
      { name: 'new', summary: 'write a config with comments', load: () => import('./new.js') },
      { name: 'sft', summary: 'fine-tune a model on conversations', takesLong: true, load: training('sft') },
      {
        name: 'reward',
        summary: 'train a reward model, or test a reward',
        takesLong: true,
        load: () => import('./reward.js'),
      },
      {
        name: 'rl',
        summary: 'train with rewards; also: grpo, ppo, rloo, dapo, gspo, ...',
        takesLong: true,
        load: training('rl'),
      },
      {
        name: 'dpo',
        summary: 'train on preferences; also: ipo, kto',
        takesLong: true,
        load: training('preference'),
      },
      {
        name: 'pipeline',
        summary: 'SFT, a reward model and PPO, one after another',
        takesLong: true,
        load: () => import('./pipeline.js'),
      },
      {
        name: 'export',
        summary: 'write a model as a GGUF file or a directory',
        takesLong: true,
        load: () => import('./export.js'),
      },
      {
        name: 'push',
        summary: 'upload a model or a data set to the Hugging Face Hub',
        load: () => import('./push.js'),
      },
      { name: 'schema', summary: 'print the JSON Schema of a config, for editors', load: () => import('./schema.js') },
    ],
  },
  {
    title: 'Look',
    verbs: [
      {
        name: 'explain',
        summary: 'describe a loss, estimator, preset or generator of a file',
        load: () => import('./explain-definition.js'),
      },
      { name: 'data', summary: 'show the contents of a data file', load: () => import('./data.js') },
      { name: 'runs', summary: 'list training runs, or compare two', load: () => import('./runs.js') },
      { name: 'plot', summary: 'draw curves of training runs', load: () => import('./plot.js') },
      {
        name: 'eval',
        summary: 'measure a model: perplexity, reward, accuracy, win rate',
        takesLong: true,
        load: () => import('./eval.js'),
      },
      {
        name: 'replay',
        summary: 'recompute the batches of a run and compare them',
        takesLong: true,
        load: () => import('./replay.js'),
      },
    ],
  },
  {
    title: 'Serve',
    verbs: [
      { name: 'chat', summary: 'chat with a model', takesLong: true, load: () => import('./chat.js') },
      {
        name: 'serve',
        summary: 'serve a model with the OpenAI API',
        takesLong: true,
        load: () => import('./serve.js'),
      },
      { name: 'engine', summary: 'start a vLLM or SGLang server for a run', load: () => import('./engine.js') },
    ],
  },
]

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
    return { name: found, summary: training.about, takesLong: true, load }
  }
  return undefined
}

export const verbs: readonly VerbEntry[] = verbGroups.flatMap(group => group.verbs)
