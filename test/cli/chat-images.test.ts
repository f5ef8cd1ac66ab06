import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { score } from '../../src/index.js'
import { cli } from '../support/cli.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { widerDirectory } from '../support/tiny-model.js'
import { tokenizer } from '../support/tokenizers.js'
import { visionDirectory, visionTemplate } from '../support/vision-directory.js'

const { directory, pictures, golden } = visionDirectory('qwen2_5_vl')
const folder = temporaryDirectory()
cpSync(pictures, folder, { recursive: true })
const chat = async (lines: readonly string[], model = directory, more: readonly string[] = []) =>
  cli(
    [
      ...['chat', '--model', model, '--device', 'cpu', '--chat-template', await visionTemplate()],
      ...['--temperature', '0', '--max-new-tokens', '12', '--ignore-eos', ...more],
    ],
    { input: lines.map(line => `${line}\n`).join('') },
  )

test('an image belongs to the next message, and the conversation is saved as a row that trainings read', async () => {
  const file = join(folder, 'chats.jsonl')
  const image = join(folder, 'image0.png')
  const { code, stdout, output } = await chat([`/image ${image}`, 'Explain the picture', `/save ${file}`, 'And now'])
  expect(code, output).toBe(0)
  const said = await tokenizer.decode(golden.rows[1]!.greedy_12, { skipSpecialTokens: true })
  expect(stdout).toContain(said)
  const [saved] = jsonLines<{ messages: { content: unknown }[] }>(file)
  expect(saved!.messages[0]!.content).toEqual([
    { type: 'image', image: 'image0.png' },
    { type: 'text', text: 'Explain the picture' },
  ])
  for await (const scored of score({ model: directory, data: file, chatTemplate: await visionTemplate() }))
    expect(scored.score ?? scored.logprobs).toBeDefined()
})

test('bounds on pixels are those that are given', async () => {
  const lines = [`/image ${join(folder, 'image0.png')}`, 'Explain the picture']
  const [whole, small] = [
    await chat(lines),
    await chat(lines, directory, ['--min-pixels', '1', '--max-pixels', '1568']),
  ]
  expect([whole.code, small.code], small.output).toEqual([0, 0])
  expect(small.stdout).not.toBe(whole.stdout)
})

test('a broken image, a missing one and a model of text are said, and end a script', async () => {
  writeFileSync(join(folder, 'broken.png'), 'no image')
  for (const [lines, model, words] of [
    [['/image missing.png', 'Hi'], directory, 'missing.png: there is no such file'],
    [[`/image ${folder}/broken.png`, 'Hi'], directory, 'broken.png'],
    [[`/video ${folder}/broken.png`, 'Hi'], directory, 'broken.png'],
    [[`/image ${folder}/image0.png`, 'Hi'], await widerDirectory(), 'This model reads text alone'],
  ] as const) {
    const { code, stderr } = await chat(lines, model)
    expect(code).toBe(1)
    expect(stderr).toContain(words)
  }
})
