/** What a run says about itself where nothing is learnt; the slow suite has a run for each diagnosis. */
import { expect, test } from 'vitest'
import { runRl } from '../../src/train/rl/index.js'
import { readingReport, saidIn } from '../support/diagnosed.js'
import { fresh, written } from '../support/files.js'
import { configOf, smallRun } from '../support/rl.js'

test('a run of two iterations says at its end what three would have said before', async () => {
  const output = fresh('run')
  const rewards = written('nothing.mjs', 'export default () => 0\n')
  const options = await smallRun({ seed: 1, prompts: 4, layers: 1 }, { iterations: 2, rewards, output })
  const { lines, report } = readingReport()
  const { signal } = new AbortController()
  await runRl({ config: configOf(options), origins: {}, resume: false, allowChange: [], report, signal })
  const { ids, messages } = await saidIn(output)
  expect(ids).toEqual(['equal-rewards', 'truncated'])
  expect(messages[0]).toMatch(/^All rewards of the last 2 iterations are equal \(0\), so the model cannot learn/)
  expect(messages[1]).toMatch(/^\d+ % of the responses of the last 2 iterations ended at the length limit/)
  const from = lines.indexOf('Before you use the model, look at this:')
  expect(lines.slice(from + 1, from + 3)).toEqual(messages.map(message => `  ${message}`))
})
