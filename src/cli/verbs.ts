/** A verb's module: one file each, loaded only when it is called. */
export interface Verb {
  /** What `--help` prints; of a verb with several actions, by what was typed behind it. */
  help: string | ((args: readonly string[]) => string)
  /** Resolves to the exit code. */
  run(args: string[]): Promise<number>
}

export interface VerbEntry {
  name: string
  summary: string
  load: () => Promise<Verb>
}

export const verbs: readonly VerbEntry[] = [
  { name: 'setup', summary: 'find or fetch libtorch and build the bridge to it', load: () => import('./setup.js') },
  {
    name: 'doctor',
    summary: 'show what this installation runs on, and check that it computes',
    load: () => import('./doctor.js'),
  },
  {
    name: 'demo',
    summary: 'train a small model from nothing: SFT, reward model, PPO, GRPO',
    load: () => import('./demo.js'),
  },
  { name: 'init', summary: 'make a model with random weights', load: () => import('./init.js') },
  {
    name: 'score',
    summary: "compute a model's log-probabilities or scores of a file",
    load: () => import('./score.js'),
  },
  { name: 'generate', summary: 'generate responses to a file of prompts', load: () => import('./generate.js') },
  {
    name: 'experience',
    summary: 'sample, score and compare responses: experiences with advantages',
    load: () => import('./experience.js'),
  },
  {
    name: 'advantages',
    summary: 'derive advantages from saved samples',
    load: () => import('./advantages.js'),
  },
  { name: 'data', summary: 'show what a file of training data holds', load: () => import('./data.js') },
  { name: 'sft', summary: 'fine-tune a model on conversations', load: () => import('./sft.js') },
  {
    name: 'reward',
    summary: 'train a reward model, or test a reward over saved samples',
    load: () => import('./reward.js'),
  },
  { name: 'rl', summary: 'train a model by rewards: PPO, GRPO and their kin', load: () => import('./rl.js') },
  { name: 'dpo', summary: 'train a model on preferences: DPO, IPO, KTO', load: () => import('./dpo.js') },
  { name: 'runs', summary: 'list training runs, or compare two', load: () => import('./runs.js') },
  { name: 'plot', summary: 'draw curves of training runs', load: () => import('./plot.js') },
  {
    name: 'pipeline',
    summary: 'SFT, a reward model and PPO, one after another',
    load: () => import('./pipeline.js'),
  },
  {
    name: 'eval',
    summary: 'measure a model: perplexity, reward, accuracy, win rate, BLEU, ROUGE-L',
    load: () => import('./eval.js'),
  },
  {
    name: 'replay',
    summary: "derive a run's training batches again, and compare them with what was trained on",
    load: () => import('./replay.js'),
  },
  { name: 'schema', summary: "print a training config's JSON Schema, for editors", load: () => import('./schema.js') },
  { name: 'chat', summary: 'talk to a model', load: () => import('./chat.js') },
  { name: 'serve', summary: 'serve a model over HTTP, OpenAI-compatible', load: () => import('./serve.js') },
  { name: 'tokenizer', summary: 'train a small tokenizer with chat tokens', load: () => import('./tokenizer.js') },
]
