/** Acts on a training on rows, and samples that are more than a prompt and an answer: with pictures, and of several turns. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { accessible, isAccessible, openPage, runPage, shoot, until } from './steps.mjs'

/** A supervised fine-tuning is paused, changed, saved and stopped from the page. */
export async function actsOnRows(all) {
  const data = join(all.folder, 'rows.jsonl')
  const rows = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({ prompt: `${i} + 1 = ?`, completion: String(i + 1) }),
  )
  writeFileSync(data, rows.join('\n'))
  const directory = join(all.runs, 'rows')
  const options = ['--epochs', '100000', '--batch-size', '4', '--save-steps', '1000000', '--validation-data', data]
  const training = all.start(['sft', '--model', all.model, '--data', data, '--output', directory, ...options])
  await until('the training listens', () => existsSync(join(directory, 'control.sock')))
  const { page, go, isFine, close } = await openPage(all)
  const press = name => page.getByRole('button', { name, exact: true }).click()
  await page.getByRole('link', { name: 'rows', exact: true }).waitFor()
  await go(runPage('rows', 'act'))
  await press('Pause')
  await page.waitForSelector('.badge:text-is("paused")')
  await page.getByLabel('optimizer.lr', { exact: true }).fill('0.0001')
  await press('Set optimizer.lr')
  await page.getByLabel('evalSteps', { exact: true }).fill('7')
  await press('Set evalSteps')
  const journal = () => readFileSync(join(directory, 'journal/acts.jsonl'), 'utf8')
  await until('both values in the journal', () => /lr.*0\.0001/.test(journal()) && /evalSteps.*7/.test(journal()))
  await accessible(page, 'acts on rows')
  await press('Stop after this step')
  await until('the training ends', () => training.exitCode !== null)
  await page.waitForSelector('header .badge:text-is("stopped, can be resumed")')
  assert.ok(existsSync(join(directory, 'checkpoints')), 'a stopped training has a checkpoint')
  await page.getByText(/resume it to act on it/).waitFor()
  isFine()
  isAccessible()
  await close()
  return 'pause, learning rate, evaluation interval and stop of a supervised fine-tuning are in its files'
}

/** A run as its journal would be, with one sample that has a picture and one that is an episode. */
async function makeKinds({ runs, model }) {
  // Numbers are derived by the options of a run.
  const { config } = JSON.parse(readFileSync(join(runs, 'first/config.json'), 'utf8'))
  const { Run } = await import('#whetstone/run')
  const { pngFile } = await import('#whetstone/files')
  const { Tokenizer } = await import('#whetstone/text')
  const directory = join(runs, 'kinds')
  const identity = {
    command: 'rl',
    config: { ...config, iterations: 1 },
    origins: {},
    fingerprints: {},
    versions: {},
  }
  const run = await Run.create(directory, identity)
  cpSync(model, join(directory, 'tokenizer'), { recursive: true, filter: path => !path.endsWith('.safetensors') })
  const tokenizer = await Tokenizer.load(join(directory, 'tokenizer'))
  const ids = text => tokenizer.encode(text)
  mkdirSync(join(directory, 'media'))
  const [width, height] = [112, 84]
  const rows = Buffer.alloc(height * (1 + 3 * width))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows.set([2 * x, 3 * y, 255 - x - y], y * (1 + 3 * width) + 1 + 3 * x)
  writeFileSync(join(directory, 'media/abc123.png'), pngFile({ width, height, rows: deflateSync(rows) }))
  const media = [{ kind: 'image', hash: 'abc123', grid: [1, 6, 8], pixels: '', runs: [] }]
  const prompt = await ids('Which colours are in the picture?')
  const append = record => run.journal.append(0, record)
  await append({ kind: 'prompt', promptId: 'picture/0', ids: prompt, media })
  const key = { promptId: 'picture/0', sample: 0 }
  const responseIds = await ids('Red, green and blue.')
  const logprobs = n => ({ raw: new Float32Array(n).fill(-0.5) })
  await append({
    ...{ kind: 'outcome', ...key, of: 'completed', requestId: 'r', seed: 1, promptIds: prompt, responseIds },
    ...{ finishReason: 'stop', logprobs: logprobs(responseIds.length), policyVersion: 0, versions: [] },
    timings: { startedMs: 0, finishedMs: 9, preemptions: 0 },
  })
  const episode = { promptId: 'episode/0', sample: 0, attempt: 0 }
  const question = await ids('What is 6 x 7? ')
  await append({ kind: 'prompt', promptId: 'episode/0', ids: question })
  await append({ kind: 'episode-opened', ...episode, environment: 'calculator', version: '1', tools: '', template: '' })
  const turns = [
    { said: 'calculate(6 * 7)', read: question, messages: [{ role: 'user', content: 'What is 6 x 7?' }] },
    { said: 'It is 42.', read: await ids(' tool: 42 '), messages: [{ role: 'tool', content: '42' }] },
  ]
  for (const [turn, { said, read, messages }] of turns.entries()) {
    const sampled = await ids(said)
    const completion = {
      responseIds: sampled,
      logprobs: logprobs(sampled.length),
      versions: [],
      policyVersion: 0,
      finishReason: 'stop',
    }
    await append({ kind: 'turn', ...episode, turn, segment: 0, observationIds: read, messages, completion })
    if (turn > 0) continue
    await append({ kind: 'call', ...episode, turn, id: 'c', name: 'calculate', effect: 'none' })
    await append({
      kind: 'call-result',
      ...episode,
      turn,
      id: 'c',
      result: { kind: 'result', text: '42' },
      seconds: 0.01,
    })
  }
  const calls = [[{ id: 'c', name: 'calculate', argumentsText: '{}', status: 'valid' }], []]
  await append({ kind: 'episode', ...episode, of: 'finished', stop: 'done', turnRewards: [null, 1], calls, reward: 1 })
  const outcome = { kind: 'scored', reward: 1, components: { right: 1 }, metrics: {} }
  await append({
    kind: 'rewards',
    rewards: [key, { promptId: 'episode/0', sample: 0 }].map(of => ({ ...of, outcome })),
  })
  await run.close('finished')
}

export async function kinds(all) {
  await makeKinds(all)
  const { page, go, isFine, close } = await openPage(all)
  await page.getByRole('link', { name: 'kinds', exact: true }).waitFor()
  await go(runPage('kinds', 'samples', '?where=prompt%3Dpicture%2F0'))
  await page.locator('td.text a').first().click()
  await page.getByRole('button', { name: 'conversation', exact: true }).click()
  const picture = page.locator('.media img')
  await picture.waitFor()
  await until('the picture', () => picture.evaluate(image => image.complete && image.naturalWidth === 112))
  await accessible(page, 'a sample with a picture')
  await picture.scrollIntoViewIfNeeded()
  await shoot(page, all, 'picture')
  await go(runPage('kinds', 'samples', '?where=prompt%3Depisode%2F0'))
  await page.locator('td.text a').first().click()
  await page.locator('.turn.tool').waitFor()
  assert.equal(await page.locator('.turn.assistant').count(), 2)
  assert.match(await page.locator('.turn.assistant').first().textContent(), /called calculate/)
  await page.getByRole('button', { name: 'tokens', exact: true }).click()
  await page.locator('.token.read').first().waitFor()
  await accessible(page, 'tokens of an episode')
  await page.locator('.tokens').scrollIntoViewIfNeeded()
  await shoot(page, all, 'episode')
  isFine()
  isAccessible()
  await close()
  return 'a picture and an episode are shown, with what was read and not sampled told apart'
}
