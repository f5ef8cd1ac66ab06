import { readFileSync } from 'node:fs'
import { didYouMean } from '../errors/index.js'
import { reportFor, sayError, sayStarting } from '../progress/index.js'
import { explain } from './explain.js'
import { UsageError } from './flags.js'
import { doesWork, hasRanks, kinNames, kinVerb, takesLong, verbGroups, verbs } from './verbs.js'
import { warningsAsLines } from './warnings.js'

const groups = verbGroups.map(
  ({ title, verbs: own }) =>
    `${title}:\n${own.map(({ name, summary }) => `  ${name.padEnd(10)}  ${summary}`).join('\n')}`,
)

const help = `whetstone: train language models with rewards and preferences, on one machine or several

Usage: whetstone <verb> [options]

${groups.join('\n\n')}

Make a model from scratch, train it and chat with it:
  whetstone tokenizer train --input corpus.txt --vocab-size 1024 --out tok
  whetstone init --family qwen2 --size 2m --tokenizer tok --out model
  whetstone sft --model model --data rows.jsonl --output runs/sft
  whetstone chat --model runs/sft/final_model

\`whetstone <verb> --help\` explains a verb, \`whetstone --version\` prints the version.
Documentation: docs/ in the package; start with docs/quick-start.md.
`

/** The command line of a process of its own: it says something before its code is loaded. On a terminal that line goes away. */
export function start(args: string[]): Promise<number> {
  const { env, execArgv } = process
  warningsAsLines(reportFor(env), [...execArgv, env.NODE_OPTIONS ?? ''])
  // In a log, what is soon over begins with its result, and a dry run with what it found.
  const isLog = !process.stderr.isTTY || env.TERM === 'dumb'
  if (isLog ? takesLong(args) && !args.includes('--dry-run') : doesWork(args))
    sayStarting(`whetstone ${args[0]}: starting`, env)
  return main(args)
}

/** Runs one command line; resolves to the exit code: 0 done, 1 failed, 2 misused, 130 interrupted. */
export async function main(args: string[]): Promise<number> {
  try {
    const code = await dispatch(args)
    await leaveRanks(code === 0 ? undefined : new Error(`whetstone ended with exit code ${code}`))
    return code
  } catch (error) {
    await leaveRanks(error as Error)
    if (error instanceof UsageError) {
      const [name = ''] = args
      const verb = verbs.some(one => one.name === name) || (await kinNames()).includes(name) ? ` ${name}` : ''
      sayError(`whetstone: ${error.message}\n\`whetstone${verb} --help\` lists the options.`)
      return 2
    }
    sayError(`whetstone: ${explain(error)}`)
    return 1
  }
}

/** Whether a launcher may have started this process. Asked before anything is loaded. */
const launched = (): boolean => process.env.RANK !== undefined || process.env.SLURM_PROCID !== undefined

/** A rank other than 0 serves, and its process ends here: it reads no config and writes nothing. */
async function serveOtherRank(): Promise<void> {
  const { endingProcess, launchedRank, serveLaunched } = await import('../distributed/index.js')
  const rank = launchedRank(process.env)
  if (rank && rank.rank > 0) await endingProcess(joined => serveLaunched(rank, { onConnected: joined }))
}

/** Ends the ranks of a launcher's job, where this process is its rank 0. */
async function leaveRanks(error?: Error): Promise<void> {
  if (!launched()) return
  const { leaveJob } = await import('../distributed/index.js')
  await leaveJob(error)
}

/** Verbs of other systems and ours. */
const otherVerbs: readonly (readonly [words: RegExp, here: string])[] = [
  [/^cdpo$/, 'dpo, with --loss cdpo --label-smoothing 0.1'],
  [/^(train|fit)$/, 'sft, reward train, grpo, ppo or dpo'],
  [/^(fine-?tune|finetuning)$/, 'sft'],
  [/^rm$/, 'reward train'],
  [/^(rollout|sample|infer)$/, 'generate'],
  [/^evaluate$/, 'eval'],
]

function otherVerb(name: string): string | undefined {
  const word = name.toLowerCase()
  const here = otherVerbs.find(([words]) => words.test(word))?.[1]
  return here && `; use ${here}`
}

async function dispatch([name, ...rest]: string[]): Promise<number> {
  if (name === 'help' && rest.length > 0) return dispatch([...rest, '--help'])
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(help)
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    const manifest: { version: string } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    )
    console.log(manifest.version)
    return 0
  }
  const entry = verbs.find(verb => verb.name === name) ?? (await kinVerb(name))
  if (!entry) {
    const names = [...verbs.map(verb => verb.name), ...(await kinNames())]
    throw new UsageError(
      name.startsWith('-')
        ? `there is no option ${name}${didYouMean(name, ['--help', '--version'])}`
        : `there is no verb "${name}"${otherVerb(name) ?? didYouMean(name, names)}`,
    )
  }
  if (launched() && hasRanks([name, ...rest])) await serveOtherRank()
  const verb = await entry.load()
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(typeof verb.help === 'string' ? verb.help : verb.help(rest))
    return 0
  }
  return verb.run(rest)
}
