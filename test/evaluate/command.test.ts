import { existsSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/main.js'
import { evaluateModel } from '../../src/evaluate/index.js'
import { capturedOutput } from '../support/cli.js'
import { decodePng } from '../support/decode-png.js'
import { fresh, jsonl, written } from '../support/files.js'
import { modelDirectory } from '../support/tiny-model.js'

let model: string
let other: string
beforeAll(async () => {
  ;[model, other] = await Promise.all([modelDirectory(1), modelDirectory(2)])
})
const printed = capturedOutput()

const data = jsonl(Array.from({ length: 5 }, (_, i) => ({ question: `Say ${i}`, answer: `${i}, of course.` })))
const columns = ['--columns', 'prompt=question,completion=answer,target=answer']
const reward = written('reward.mjs', `export default ({ response }) => Number(response.includes('e'))\n`)
const quickly = ['--device', 'cpu', '--max-new-tokens', '10']
const evaluate = (...args: string[]) =>
  main(['eval', '--model', model, '--data', data, ...columns, ...quickly, ...args])

test('shows a table, and writes the numbers of evaluateModel, the answers and a picture', async () => {
  const [json, answers, svg, png] = ['n.json', 'a.jsonl', 'p.svg', 'p.png'].map(fresh) as [
    string,
    string,
    string,
    string,
  ]
  const args = ['--reference', other, '--reward', reward, '--samples', '4', '--seed', '7']
  expect(await evaluate(...args, '--out', json, '--answers', answers, '--plot', svg)).toBe(0)
  const shown = printed.stdout
  expect(shown).toMatch(/^.*: 5 prompts, 4 answers each at temperature 1, seed 7\n/)
  for (const name of ['perplexity', 'reward', 'accuracy', 'pass@2', 'pass@4', 'BLEU (13a)', 'ROUGE-L'])
    expect(shown).toMatch(new RegExp(`^ {2}${name.replace(/[()]/g, '\\$&')} +[\\d.]+.* {2}[\\d.]+`, 'm'))
  expect(shown).toMatch(/^win rate over the reference: [\d.]+ % \([\d.]+ to [\d.]+\): \d+ wins, \d+ ties, \d+ losses/m)

  const { evaluation, answers: records } = await evaluateModel({
    ...{ model, reference: other, reward, samples: 4, seed: 7, device: 'cpu', maxNewTokens: 10 },
    data: { path: data, columns: { prompt: 'question', completion: 'answer', target: 'answer' } },
  })
  expect(JSON.parse(readFileSync(json, 'utf8'))).toEqual(JSON.parse(JSON.stringify(evaluation)))
  const lines = readFileSync(answers, 'utf8').trimEnd().split('\n')
  expect(lines.map(line => JSON.parse(line))).toEqual([
    ...records.model.map(one => ({ model: 'model', ...one })),
    ...records.reference.map(one => ({ model: 'reference', ...one })),
  ])
  expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [\s\S]*perplexity[\s\S]*<\/svg>\s*$/)

  expect(await evaluate('--limit', '2', '--plot', png)).toBe(0)
  const { width, height } = decodePng(readFileSync(png))
  expect([width, height].every(side => side > 100)).toBe(true)
})

test('numbers that stream to standard output have it for themselves', async () => {
  expect(await evaluate('--metrics', 'perplexity', '--out', '-')).toBe(0)
  expect(JSON.parse(printed.stdout).model.perplexity.rows).toBe(5)
  expect(printed.stderr).toContain('over 5 rows')
})

test('says what was not measured, and why', async () => {
  expect(await evaluate('--limit', '1')).toBe(0)
  expect(printed.stdout).toContain('not measured: winRate: no reward is given')
})

test('where no answer has a reward, the exit code says so', async () => {
  const failing = written('failing.mjs', `export default () => { throw new Error('broken') }\n`)
  expect(await evaluate('--reward', failing, '--limit', '2')).toBe(1)
  expect(printed.stdout).toMatch(/rewards that failed +2 \(threw 2\)/)
  expect(printed.stdout).toMatch(/reward +none/)
})

describe('a misuse', () => {
  test.each([
    [['--plot', 'x.gif'], '--plot: expected a file that ends in .svg or .png, got "x.gif"'],
    [['--metrics', 'blue'], '--metrics: there is no "blue"; did you mean bleu?'],
    [['--samples', '2', '--temperature', '0'], '--temperature: with temperature 0 all samples of a prompt are equal'],
    [['--device', 'gpu'], '--device: expected auto, cpu, cuda or cuda:N'],
    [['--prompt-template', 'no place'], '--prompt-template: expected a text that contains {prompt}'],
    [['--columns', 'prompt'], '--columns: expected names such as prompt=question,target=answer'],
    [['--bleu-tokenizer', 'intl'], '--bleu-tokenizer: expected one of auto, 13a, zh, char, got "intl"'],
    [['--refrence', 'x'], 'did you mean --reference'],
  ])('%j is refused with its name', async (args, message) => {
    expect(await evaluate(...args)).toBe(2)
    expect(printed.stderr).toContain(message)
  })

  test('an output in the model directory, or over the data, is refused before anything is done', async () => {
    expect(await evaluate('--out', `${model}/config.json`)).toBe(1)
    expect(printed.stderr).toContain('is inside the input directory')
    expect(await evaluate('--out', data)).toBe(1)
    expect(printed.stderr).toContain('is also the input')
  })
})

test('Ctrl-C stops it, and nothing is written', async () => {
  const [json, asked] = [fresh('interrupted.json'), fresh('asked')]
  const waiting = written(
    'waiting.mjs',
    `import { writeFileSync } from 'node:fs'
export default () => { writeFileSync(${JSON.stringify(asked)}, ''); return new Promise(() => {}) }\n`,
  )
  const ending = evaluate('--reward', waiting, '--out', json)
  await vi.waitFor(() => expect(existsSync(asked)).toBe(true), { timeout: 50_000 })
  process.emit('SIGINT')
  expect(await ending).toBe(130)
  expect(printed.stderr).toContain('Interrupted. Nothing was written.')
  expect(existsSync(json)).toBe(false)
})
