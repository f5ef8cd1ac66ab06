/** The logger `tensorboard`: event files in `logs/`. */
import { join } from 'node:path'
import type { Json } from '../exact-json.js'
import { EventFile, scalarEvent, textEvent } from './event-file.js'
import { byStep, type LoggedSample, type Logger } from './logger.js'

/** Writes metrics as scalars, and the config and the texts of samples as texts. */
export function tensorBoardLogger(): Logger {
  let file: EventFile | undefined
  const add = (events: readonly Buffer[]): Promise<void> => file!.add(events)
  return {
    name: 'tensorboard',
    async start({ directory, config, from }) {
      file = await EventFile.create(join(directory, 'logs'), { purgeFrom: from })
      await add([textEvent(0, Date.now(), { config: configText(config) })])
    },
    metrics: entries => add(entries.map(({ step, time, values }) => scalarEvent(step, time, values))),
    samples: entries =>
      add(
        byStep(entries).map(samples => {
          const texts = samples.map((one, i) => [`samples/${i + 1}`, sampleText(one)])
          return textEvent(samples[0]!.step, samples[0]!.time, Object.fromEntries(texts))
        }),
      ),
  }
}

const configText = (config: Json): string => codeBlock(JSON.stringify(config, undefined, 2))

function sampleText({ prompt, response, reward, components }: LoggedSample): string {
  const parts = Object.entries(components).map(([name, value]) => `${name} ${value}`)
  const rewards = [...(reward === undefined ? [] : [`reward ${reward}`]), ...parts].join(', ')
  return ['**prompt**', codeBlock(prompt), '**response**', codeBlock(response), rewards].join('\n\n')
}

/** As written: the text of a model may be Markdown. */
const codeBlock = (text: string): string => text.replaceAll(/^/gm, '    ')
