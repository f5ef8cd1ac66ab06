import { z } from 'zod'
import { resolveEpisodes, startEpisodes } from '../api/index.js'
import { InputError } from '../errors/index.js'
import { reportFor } from '../progress/index.js'
import { trainings } from '../train/index.js'
import { readConfigFlags } from './config-flags.js'
import { configLayers } from './config-layers.js'
import { episodeJson, episodeLines } from './episode-lines.js'
import { file, flagHelp, integer, settings, toggle } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  config: file('a config of rl with environment or tools; flags win over it').optional(),
  set: settings(),
  prompts: integer('prompts to take from the data', { min: 1 }).default(2),
  samples: integer('episodes of each prompt', { min: 1 }).default(1),
  tokens: toggle('show every token by itself'),
  json: toggle('one JSON object a line: messages, token ids, who made each token, rewards'),
})

export const help = `Usage: whetstone episode --config FILE [--prompts N] [--samples N] [options]

Runs a few episodes with the model, environment and tools of a config of rl, and shows them as conversations. It trains and writes
nothing. Lines that begin with > were sampled and would be trained; lines that begin with | were only read by the model. Options of the
config are flags too.

${flagHelp(flags)}

Exit code 1 if no episode ended.
`

export async function run(args: string[]): Promise<number> {
  const { schema, options } = trainings.rl
  const { flags: given, layer } = readConfigFlags(args, flags, { schema, options })
  const { prompts, samples, tokens, json } = given
  const resolved = await resolveEpisodes(await configLayers({ ...given, layer }))
  const report = reportFor(process.env)
  let [shown, ended] = [0, 0]
  return interruptible({
    work: async signal => {
      for await (const tried of startEpisodes({ ...resolved, prompts, samples, report, signal })) {
        shown++
        if ('episode' in tried.outcome) ended++
        const colour = process.stdout.isTTY && process.env.NO_COLOR === undefined ? 'yes' : 'no'
        const text = json
          ? JSON.stringify(episodeJson(tried))
          : (await episodeLines(tried, { tokens: tokens ? 'each' : 'joined', colour })).join('\n')
        process.stdout.write(`${text}\n`)
      }
      if (shown === 0) throw new InputError('data: there is no prompt to run an episode with')
      return ended === 0 ? 1 : 0
    },
    onInterrupt: () => report.line('Interrupted.'),
  })
}
