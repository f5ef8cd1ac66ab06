/** Prompts and rows that are too long: what is left for the answer, what is cut, what is left out, and where it is counted. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/main.js'
import { type GenerationRequest, LocalEngine } from '../../src/rollout/index.js'
import { capturedOutput } from '../support/cli.js'
import { fresh, jsonl, temporaryDirectory } from '../support/files.js'
import { base } from '../support/pipeline.js'
import { tokenizer } from '../support/tokenizers.js'

const folder = temporaryDirectory()
const context = 64
const reward = join(folder, 'reward.mjs')
writeFileSync(reward, 'export default ({ sample }) => sample\n')

const printed = capturedOutput()
let asked: Int32Array[] = []
beforeEach(() => {
  asked = []
  const generate = LocalEngine.prototype.generate
  vi.spyOn(LocalEngine.prototype, 'generate').mockImplementation(function (this: LocalEngine, requests, options) {
    async function* watched(): AsyncGenerator<GenerationRequest> {
      for await (const request of requests) {
        asked.push(Int32Array.from(request.promptIds))
        yield request
      }
    }
    return generate.call(this, watched(), options)
  })
})

const words = (n: number): string => Array.from({ length: n }, (_, i) => `${i}`).join(' ')
const rows = [{ prompt: words(40) }, { prompt: '1 + 1?' }]
const data = jsonl(rows, 'prompts')
function config(values: object): string {
  const path = `${fresh('config')}.json`
  writeFileSync(path, JSON.stringify(values))
  return path
}
const rl = (values: object): string => {
  const small = { iterations: 2, rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 16, device: 'cpu' }
  return config({ model: base, data, rewards: reward, output: fresh('run'), ...small, ...values })
}
const metricsOf = (run: string): Record<string, number>[] =>
  readFileSync(join(run, 'logs', 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { values: Record<string, number> }).values)

describe('rl', () => {
  test('a long prompt leaves room for the whole answer, and keeps the head and the end of the template', async () => {
    const output = fresh('run')
    expect(await main(['rl', '--config', rl({ output })]), printed.output).toBe(0)
    const whole = await tokenizer.encodeChat([{ role: 'user', content: words(40) }], { addGenerationPrompt: true })
    expect(whole.length).toBeGreaterThan(context)
    const [cut] = asked.filter(({ length }) => length === context - 16)
    const head = whole.indexOf(tokenizer.idOf('<|im_end|>')!)
    expect(cut!.slice(0, head + 4)).toEqual(whole.slice(0, head + 4))
    expect(cut!.slice(-6)).toEqual(whole.slice(-6))
    const counted = metricsOf(output).filter(line => 'prompts/cut' in line)
    expect(counted.map(line => [line['prompts/cut'], line['prompts/left_out']])).toEqual([
      [1, 0],
      [1, 0],
    ])
    expect(printed.output.match(/prompts longer than promptMaxLen \(48 tokens\): 1 cut, 0 skipped/g)).toHaveLength(1)
    const events = readFileSync(join(output, 'logs', 'events.jsonl'), 'utf8')
    expect(events.match(/longer than promptMaxLen/g)).toHaveLength(2)
  })

  test('left out where they are not to be cut, and counted', async () => {
    const output = fresh('run')
    expect(await main(['rl', '--config', rl({ output, promptTruncation: 'reject' })]), printed.output).toBe(0)
    expect(metricsOf(output)[0]).toMatchObject({ 'prompts/cut': 0, 'prompts/left_out': 1 })
  })

  test('the dry run counts them', async () => {
    expect(await main(['rl', '--config', rl({}), '--dry-run'])).toBe(0)
    expect(printed.output).toContain('longer than promptMaxLen (48 tokens): 1 cut, 0 skipped')
    printed.clear()
    expect(await main(['rl', '--config', rl({ promptMaxLen: 63 }), '--dry-run'])).toBe(0)
    expect(printed.output).toContain('longer than promptMaxLen (63 tokens): 1 cut, 0 skipped')
  })

  test('the dry run finds that all are left out', async () => {
    const path = rl({ data: jsonl([rows[0]], 'long'), promptTruncation: 'reject' })
    expect(await main(['rl', '--config', path, '--dry-run'])).toBe(1)
    expect(printed.output).toContain('data: all 1 prompts are longer than promptMaxLen (48 tokens)')
  })

  test('no room for a prompt is refused', async () => {
    for (const more of [[], ['--dry-run']]) {
      printed.clear()
      expect(await main(['rl', '--config', rl({ maxNewTokens: context }), ...more])).toBe(1)
      expect(printed.output).toMatch(/maxNewTokens: 64/)
    }
  })
})

describe('experience', () => {
  const options = { model: base, data, rewards: reward, advantageEstimator: 'reinforce', device: 'cpu' }
  test('counts them in its summary and in its dry run', async () => {
    const path = config({ ...options, output: fresh('out.jsonl'), maxNewTokens: 16 })
    expect(await main(['experience', '--config', path, '--dry-run'])).toBe(0)
    expect(printed.output).toContain('longer than promptMaxLen (48 tokens): 1 cut, 0 skipped')
    expect(await main(['experience', '--config', path])).toBe(0)
    expect(printed.output).toMatch(/long prompts +1 cut, 0 skipped/)
    expect(asked.map(({ length }) => length)).toContain(48)
  })

  test('no room for a prompt is refused', async () => {
    const path = config({ ...options, output: fresh('out.jsonl'), maxNewTokens: 64 })
    expect(await main(['experience', '--config', path, '--dry-run'])).toBe(1)
    expect(printed.output).toMatch(/maxNewTokens: 64 tokens do not fit into the context of the actor/)
  })
})

describe('trainings on rows', () => {
  const conversation = (n: number) => ({
    messages: [
      { role: 'user', content: words(n) },
      { role: 'assistant', content: 'yes' },
    ],
  })
  const sft = (values: object): string => config({ model: base, output: fresh('run'), device: 'cpu', ...values })

  test('the dry run counts what is cut and what is left out', async () => {
    const path = sft({ data: jsonl([conversation(60), conversation(2)], 'rows'), overlong: 'drop' })
    expect(await main(['sft', '--config', path, '--dry-run'])).toBe(0)
    expect(printed.output).toContain('longer than maxLength (64 tokens): 0 cut, 1 skipped')
    const preferences = [{ prompt: words(40), chosen: 'yes', rejected: 'no' }]
    const dpo = sft({ data: jsonl(preferences, 'rows'), overlong: 'truncate' })
    expect(await main(['dpo', '--config', dpo, '--dry-run'])).toBe(0)
    expect(printed.output).toContain('longer than maxLength (64 tokens): 1 cut, 0 skipped')
  })

  test('the dry run finds that all are too long', async () => {
    const output = fresh('run')
    const path = sft({ output, data: jsonl([conversation(60), conversation(70)], 'rows'), overlong: 'drop' })
    expect(await main(['sft', '--config', path, '--dry-run'])).toBe(1)
    expect(printed.output).toMatch(/data: every example is skipped \(overlong 2; .*raise maxLength/s)
    expect(existsSync(output)).toBe(false)
  })
})
