/** README.md of a model that a run made: what it is, what it was made from, its figures and curves, how to use it and make it again. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { writeFileAtomic } from '../files/index.js'
import { chart, toPng } from '../plot/index.js'
import { curvesOf, mainMetrics, metricText, Run, type RunView } from '../run/index.js'
import { hubId, publicConfig, publicName } from './public-names.js'

/** What lies beside the card. */
export type CardForm = 'model' | 'adapter' | 'gguf'

interface ModelCardOptions {
  /** The run that made the model. Default: the run that the model lies in, where it lies in one. */
  readonly run?: string | undefined
  /** Of the card. Default: the name of the run, or of the model's directory. */
  readonly title?: string | undefined
  /** Default: `model`. */
  readonly form?: CardForm
  /** The model that an adapter was merged into. Default: the one that the run names. */
  readonly base?: string | undefined
}

interface ModelCard {
  /** README.md. */
  readonly text: string
  /** curves.png; undefined where there is no run, or none of its metrics. */
  readonly curves: Uint8Array | undefined
}

/**
 * Writes README.md and curves.png into a directory. Nothing of this machine is in them: no absolute path, no address, no secret.
 *
 * @example
 * await writeModelCard('export', 'runs/grpo/best_model')
 */
export async function writeModelCard(into: string, model: string, options: ModelCardOptions = {}): Promise<string[]> {
  const { text, curves } = await modelCard(model, options)
  const files = { 'README.md': text, ...(curves ? { 'curves.png': curves } : {}) }
  for (const [name, content] of Object.entries(files)) await writeFileAtomic(join(into, name), content)
  return Object.keys(files)
}

/** The run that a model was written by: `runs/grpo` for `runs/grpo/best_model`. */
export async function runOfModel(model: string): Promise<string | undefined> {
  for (const directory of [resolve(model), dirname(resolve(model))])
    if (await Run.isIn(directory).catch(() => false)) return directory
  return undefined
}

export async function modelCard(model: string, options: ModelCardOptions = {}): Promise<ModelCard> {
  const { run = await runOfModel(model), form = 'model' } = options
  const title = options.title ?? basename(run ?? resolve(model))
  const view = run === undefined ? undefined : await Run.read(run)
  if (!view) return { text: await cardWithoutRun(title, { form, base: options.base }), curves: undefined }
  const facts = await factsOf(view)
  const drawn = curvesOf([{ name: title, view }])
  const curves = drawn.panels.length === 0 ? undefined : toPng(chart(drawn))
  const text = sections([
    frontMatter({
      ...(facts.baseId === undefined ? {} : { base_model: facts.baseId }),
      library_name: libraries[form],
      ...(facts.datasets.length === 0 ? {} : { datasets: facts.datasets }),
      ...(facts.license === undefined ? {} : { license: facts.license }),
      pipeline_tag: view.config.command === 'reward' ? 'text-classification' : 'text-generation',
      tags: ['whetstone', facts.method, ...(facts.adapter ? ['lora'] : [])],
    }),
    `# ${title}`,
    `${facts.about} It was trained with Whetstone.`,
    `- Base model: ${facts.base}\n- Data: ${facts.data.join(', ')}${facts.rewards === undefined ? '' : `\n- Rewards: ${facts.rewards}`}`,
    figures(view),
    ...(curves ? ['![Curves of the training](curves.png)'] : []),
    usage(title, form, facts.baseId ?? facts.base),
    howMade(view, title),
  ])
  return { text, curves }
}

async function cardWithoutRun(title: string, { form = 'model', base }: ModelCardOptions): Promise<string> {
  const id = base === undefined ? undefined : hubId(base)
  const { license } = base === undefined ? {} : await baseCard(base)
  return sections([
    frontMatter({
      ...(id === undefined ? {} : { base_model: id }),
      library_name: libraries[form],
      ...(license === undefined ? {} : { license }),
      tags: ['whetstone', ...(base === undefined ? [] : ['lora'])],
    }),
    `# ${title}`,
    base === undefined ? '' : `- Base model: ${publicName(base)}`,
    usage(title, form, base === undefined ? undefined : publicName(base)),
  ])
}

const libraries: Readonly<Record<CardForm, string>> = { model: 'transformers', adapter: 'peft', gguf: 'gguf' }

const sections = (parts: readonly string[]): string => `${parts.filter(part => part !== '').join('\n\n')}\n`

const frontMatter = (values: object): string => `---\n${stringify(values, { lineWidth: 0 }).trim()}\n---`

type Options = Readonly<Record<string, unknown>>

/** What a card says of a run. */
async function factsOf({ config: { command, config, fingerprints } }: RunView) {
  const options = config as Options
  const base = String(options.model)
  const named = {
    sft: 'sft',
    reward: 'reward-model',
    preference: String(options.loss ?? 'dpo'),
    rl: String(options.algorithm ?? 'grpo'),
  }
  const method = nameOf(named[command])
  const data = namesOf(options.data)
  const card = await baseCard(base)
  return {
    method,
    base: publicName(base),
    baseId: hubId(base),
    license: card.license,
    adapter: options.lora !== undefined || options.adapter !== undefined,
    data: data.length > 0 ? data.map(publicName) : Object.keys(fingerprints).map(publicName),
    datasets: [...new Set(data.flatMap(name => hubId(name) ?? []))],
    rewards: command === 'rl' ? namesOf(options.rewards).map(publicName).join(', ') : undefined,
    about: {
      sft: 'A language model, fine-tuned on conversations (SFT).',
      reward: 'A reward model: it scores answers to prompts.',
      preference: `A language model, trained on preferences (${method}).`,
      rl: `A language model, trained with rewards (${method}).`,
    }[command],
  }
}

/** A name of ours, or of a definition, which is recorded with its name or by its file. */
const nameOf = (name: string): string => publicName(name).replace(/\.\w+$/, '')

/** Names of files, of sources with settings, and of lists of them. */
function namesOf(value: unknown): string[] {
  return [value].flat().flatMap(one => {
    if (typeof one === 'string') return [one]
    const path = (one as { path?: unknown } | null | undefined)?.path
    return typeof path === 'string' ? [path] : []
  })
}

/** What the card of the base model says at its top. */
async function baseCard(base: string): Promise<{ license?: string }> {
  const file = join(base, 'README.md')
  if (!existsSync(file)) return {}
  const [, front] = /^---\r?\n(.*?)\r?\n---/s.exec(await readFile(file, 'utf8')) ?? []
  try {
    const { license } = (parse(front ?? '') ?? {}) as { license?: unknown }
    return typeof license === 'string' ? { license } : {}
  } catch {
    return {}
  }
}

/** First and last value of each main metric. */
function figures(view: RunView): string {
  const rows = mainMetrics([view]).flatMap(name => {
    const points = (view.metrics.get(name) ?? []).filter(({ value }) => Number.isFinite(value))
    if (points.length === 0) return []
    const shown = (place: number): string => metricText(name, points.at(place)!.value)
    return [`| ${name} | ${shown(0)} | ${shown(-1)} |`]
  })
  if (rows.length === 0) return ''
  return [
    '## Figures',
    '',
    `${view.step} steps.`,
    '',
    '| metric | first | last |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function usage(title: string, form: CardForm, base = 'the base model'): string {
  const name = JSON.stringify(title)
  const python = {
    model: `from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(${name})
model = AutoModelForCausalLM.from_pretrained(${name})`,
    adapter: `from peft import PeftModel
from transformers import AutoModelForCausalLM

model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(${JSON.stringify(base)}), ${name})`,
  }
  if (form === 'gguf')
    return '## Use\n\nThe file runs with llama.cpp, Ollama and LM Studio. The Modelfile beside it is for Ollama:\n\n```sh\nollama create my-model -f Modelfile\n```'
  const chat = form === 'adapter' ? `whetstone chat --model ${base} --adapter DIR` : 'whetstone chat --model DIR'
  return `## Use\n\n\`\`\`python\n${python[form]}\n\`\`\`\n\nOr, in the directory of this model as \`DIR\`: \`${chat}\``
}

function howMade({ config: { config, origins, versions, created } }: RunView, title: string): string {
  const options = stringify(publicConfig(config as Options, origins), { lineWidth: 0 }).trim()
  const tools = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `## How it was made

On ${created.slice(0, 10)}, with ${tools.join(', ')}. Options that differ from their defaults:

\`\`\`yaml
${options}
\`\`\`

The run directory holds a journal of every batch. \`whetstone replay ${title}\` computes them again and compares.`
}
