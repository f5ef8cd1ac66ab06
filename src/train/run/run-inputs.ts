/** Fingerprints of the inputs of a run: models, tokenizers, chat templates and rewards. */
import { stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileSha256 } from '../../files/index.js'
import { modelFiles } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import { type RewardNames, rewardFiles, ruleNames } from '../../reward/index.js'
import type { RunInputs } from '../../run/index.js'
import { chatTemplateWords } from '../../text/index.js'

interface InputOptions {
  /** Directories of models and adapters, by the option that names them. */
  readonly models: Readonly<Record<string, string | undefined>>
  readonly rewards?: RewardNames | undefined
  /** Of reward models that come from the Hub, by name. */
  readonly rewardCommits?: Readonly<Record<string, string>> | undefined
  /** A file, or one of the words that stand for no file. */
  readonly chatTemplate?: string | undefined
  /** Files of definitions, by the option that names them. */
  readonly definitions?: Readonly<Record<string, readonly { readonly name: string; readonly path: string }[]>>
  readonly report: Report
  readonly signal: AbortSignal
}

/** SHA-256 of every file, by option and by its name from there. A directory that two options name is read once. */
export async function runInputs(options: InputOptions): Promise<RunInputs> {
  const { models, rewards, rewardCommits, chatTemplate, definitions = {}, report, signal } = options
  const inputs: Record<string, Record<string, string>> = {}
  const known = new Map<string, Promise<string>>()
  const shown = report.transfer('reading the inputs of the run')
  let bytes = 0
  const add = async (option: string, name: string, path: string): Promise<void> => {
    signal.throwIfAborted()
    const seen = known.has(path)
    const sum = known.get(path) ?? fileSha256(path)
    known.set(path, sum)
    inputs[option] = { ...inputs[option], [name.split(sep).join('/')]: await sum }
    if (!seen) bytes += (await stat(path)).size
    shown.at(bytes)
  }
  const addModel = async (option: string, prefix: string, directory: string): Promise<void> => {
    for (const name of await modelFiles(directory)) await add(option, join(prefix, name), resolve(directory, name))
  }
  try {
    for (const [option, directory] of Object.entries(models))
      if (directory !== undefined) await addModel(option, '', directory)
    if (rewards !== undefined) {
      // Rules are no files.
      const [first = '.'] = [rewards].flat().filter(name => !ruleNames.includes(name))
      const folder = dirname(resolve(first))
      const made = await rewardFiles(rewards, { commits: rewardCommits, signal })
      for (const file of made.files) await add('rewards', relative(folder, file), file)
      for (const directory of made.models) await addModel('rewards', relative(folder, directory), directory)
    }
    if (chatTemplate !== undefined && !chatTemplateWords.some(word => word === chatTemplate))
      await add('chatTemplate', basename(chatTemplate), resolve(chatTemplate))
    for (const [option, files] of Object.entries(definitions))
      for (const { name, path } of files) await add(option, name, path)
    return inputs
  } finally {
    shown.end()
  }
}
