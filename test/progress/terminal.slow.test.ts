/** What a person sees of commands, on pseudo-terminals of 40, 80 and 200 columns. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { textColumns } from '../../src/progress/width.js'
import { compiled } from '../support/compiled.js'
import { HubServer } from '../support/doubles/hub-server.js'
import { fresh, jsonl, temporaryDirectory, written } from '../support/files.js'
import { OnTerminal, onTerminal, terminalAbsent } from '../support/terminal.js'
import { modelDirectory } from '../support/tiny-model.js'

if (terminalAbsent) console.warn(`No command is tried on a terminal: ${terminalAbsent}.`)

const widths = [40, 80, 200] as const
const model = await modelDirectory(5)
const rows = jsonl(
  Array.from({ length: 64 }, (_, i) => ({ prompt: `What is ${i} + 1?`, completion: `${i + 1}` })),
  'sums',
)
/** Long enough that the phase is on the line. */
const reward = written(
  'reward.mjs',
  `process.emitWarning('look at this')
   console.log('a word of the reward')
   export default async ({ response }) => {
     await new Promise(resolve => setTimeout(resolve, 450))
     return response.length % 3
   }`,
)

const trains = (verb: string, ...more: string[]) => [
  ...[verb, '--model', model, '--data', rows, '--output', fresh(verb), '--device', 'cpu', ...more],
]
const sft = (...more: string[]) => trains('sft', '--batch-size', '2', '--epochs', '2', ...more)
const grpo = (iterations: number) =>
  trains(
    'grpo',
    ...['--rewards', reward, '--iterations', `${iterations}`, '--rollout-batch-size', '2'],
    ...['--n-samples-per-prompt', '2', '--max-new-tokens', '8'],
  )

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
const plain = (text: string): string => text.replace(/\x1b\[[0-9;]*m/g, '')
const frames = ({ live }: OnTerminal): string[] => live.map(plain)

/** What holds for every command on every terminal. */
async function neat(run: OnTerminal): Promise<number | null> {
  const code = await run.ended
  const { screen } = run
  for (const line of frames(run)) expect(textColumns(line), line).toBeLessThanOrEqual(screen.columns - 3)
  expect(screen.cuts).toBe(0)
  expect(screen.cursorShown).toBe(true)
  // The prompt of the shell begins on a line of its own.
  expect(screen.cursor.column, run.shown).toBe(0)
  expect(frames(run).length).toBeGreaterThan(0)
  // What was redrawn in place is gone.
  const last = frames(run)
    .filter(line => line.trim() !== '')
    .at(-1)
  expect(screen.lines).not.toContain(last)
  expect(run.shown).not.toMatch(/: starting|preparing the run/)
  return code
}

/** The same on terminals of all widths at once. */
const each = (check: (columns: number) => Promise<void>): Promise<unknown> => Promise.all(widths.map(check))
/** Of text that was broken at any width. */
const joined = (run: OnTerminal): string => run.shown.replaceAll(/\s+/g, ' ')

describe.skipIf(terminalAbsent)('on terminals of 40, 80 and 200 columns', { timeout: 240_000 }, () => {
  test('sft: steps and time left are on the line, then what it does, then metrics that fit', () =>
    each(async columns => {
      const run = onTerminal(sft(), { columns })
      expect(await neat(run)).toBe(0)
      const bar = columns >= 100 ? ' {2}\\[#*\\.*\\]' : ''
      const steps = frames(run).filter(line => line.includes('sft '))
      const withTime = new RegExp(`^ {2}sft \\d+/64${bar} {2}\\d+ s left {2}`)
      expect(
        steps.some(line => withTime.test(line)),
        steps.join('\n'),
      ).toBe(true)
      for (const line of steps)
        expect(line).toMatch(new RegExp(`^ {2}sft \\d+/64${bar}( {2}\\d+ s left)?( {2}[a-z]|$)`))
      expect(run.shown).toMatch(/loss\/train/)
    }))

  test('rl: the phase is on the line before metrics, and a warning of a reward is a line of the run', () =>
    each(async columns => {
      const run = onTerminal(grpo(4), { columns })
      expect(await neat(run)).toBe(0)
      const lines = frames(run).filter(line => line.includes('grpo '))
      const waiting = lines.filter(line => /^ {2}grpo [12]\/4.* {2}\d+ s left {2}waiting/.test(line))
      expect(waiting.length, lines.join('\n')).toBeGreaterThan(0)
      // A metric is there or not: only the phase is ever cut, and only in a narrow terminal.
      if (columns >= 80) for (const line of lines) expect(line).not.toMatch(/\.\.\.$/)
      if (columns === 80)
        expect(
          waiting.some(line => / {2}reward [\d.-]+$/.test(line)),
          waiting.join('\n'),
        ).toBe(true)
      if (columns === 200)
        expect(
          waiting.some(line => /tokens\/s$/.test(line)),
          waiting.join('\n'),
        ).toBe(true)
      expect(run.screen.lines.filter(line => line.startsWith('warning: look at this'))).toHaveLength(1)
      // A reward may print, too.
      expect(run.screen.lines).toContain('a word of the reward')
      expect(run.shown).not.toContain('(node:')
    }))

  test('the demo: stages stay, what is being done is redrawn below them', async () => {
    // The narrowest shows what is cut; its lines are made as those of the trainings above.
    const run = onTerminal(['demo', '--quick', '--out', fresh('demo')], { columns: 40 })
    expect(await neat(run)).toBe(0)
    expect(joined(run)).toMatch(/GRPO on a verifier/)
    expect(frames(run).some(line => /^ {2}(sft|reward|ppo|grpo) \d+\/\d+/.test(line))).toBe(true)
  })

  test('a download: a bar that loses its parts, never its share', () =>
    each(async columns => {
      const hub = await HubServer.start()
      hub.speed = 4e6
      hub.add('models/org/a-model-with-a-long-name', {
        'config.json': '{"model_type": "llama"}',
        'tokenizer.json': '{}',
        'model.safetensors': randomBytes(3_000_000),
      })
      const env = hub.env(temporaryDirectory())
      const run = onTerminal(['download', 'org/a-model-with-a-long-name'], { columns, env })
      expect(await neat(run)).toBe(0)
      expect(
        frames(run).some(line => / [1-9]\d? %/.test(line)),
        frames(run).join('\n'),
      ).toBe(true)
      expect(run.shown).toMatch(/MB/)
    }))

  test('an error in the middle: its message begins a line', () =>
    each(async columns => {
      const run = onTerminal(sft('--optimizer.lr', '1e30', '--optimizer.max-grad-norm', '1e30'), { columns })
      expect(await neat(run)).toBe(1)
      expect(frames(run).some(line => /^ {2}sft \d+\/64/.test(line))).toBe(true)
      expect(run.screen.lines.some(line => line.startsWith('whetstone:'))).toBe(true)
    }))

  test('Ctrl-C: the step is finished, the run is saved, and the next prompt is on a line of its own', () =>
    each(async columns => {
      const run = onTerminal(grpo(200), { columns })
      await run.waitFor(/grpo 1\/200/)
      run.type('\x03')
      expect(await neat(run)).toBe(130)
      expect(joined(run)).toMatch(/Finishing this step, .*Interrupted\. The training is saved in/)
      expect(run.shown).not.toContain('^C')
    }))

  test.each([
    [{}, true],
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'dumb' }, false],
  ])('with %j, colour: %s', async (env, colour) => {
    const run = onTerminal(grpo(2), { columns: 80, env })
    expect(await run.ended).toBe(0)
    expect(run.raw.includes('\x1b[33mwarning:\x1b[39m')).toBe(colour)
    // A dumb terminal gets whole lines.
    if ('TERM' in env) expect(run.raw).not.toContain('\x1b')
    else expect(run.raw).toContain('\x1b[?7l')
  })

  test.each([
    ['grpo', grpo(1)],
    ['sft', sft()],
    ['demo', ['demo', '--quick', '--out', fresh('demo')]],
    ['download', ['download', 'org/none']],
    ['chat', ['chat', '--model', model]],
    ['eval', ['eval', '--model', model, '--data', rows]],
    ['generate', ['generate', '--model', model, '--input', rows, '--output', fresh('out')]],
  ])('%s has its first line within a second', async (_, args) => {
    const times: number[] = []
    // The best of three: another process may have the core.
    for (let attempt = 0; attempt < 3 && !(Math.min(...times) < 1000); attempt++) {
      // As it is installed, with all its files.
      const run = new OnTerminal([process.execPath, join(compiled(), 'install/whetstone.mjs'), ...args], {
        columns: 80,
        env: { HF_HUB_OFFLINE: '1' },
      })
      await run.waitFor(/\S/)
      times.push(run.firstMs)
      run.type('\x03')
      run.type('\x03')
      await run.ended
    }
    expect(Math.min(...times)).toBeLessThan(1000)
  })
})
