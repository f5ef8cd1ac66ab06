import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import { main } from '../../src/cli/main.js'
import { advantageOptionsShape } from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'
import { temporaryDirectory } from '../support/files.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(repository, 'docs/advantages.md'), 'utf8')
const block = (language: string) => page.match(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's'))![1]!

const folder = temporaryDirectory()

it('the table of options is the schema', () => {
  for (const [name, schema] of Object.entries(advantageOptionsShape)) {
    const initial = schema.safeParse(undefined).data
    const shown = initial === undefined ? '' : `\`${typeof initial === 'string' ? initial : JSON.stringify(initial)}\``
    const row = [`\`${name}\``, shown, schema.description]
    const cells = page
      .split('\n')
      .find(line => line.startsWith(`| \`${name}\` `) && line.includes(schema.description!))
      ?.split('|')
      .map(cell => cell.trim())
    expect(cells?.slice(1, -1), name).toEqual(row)
  }
})

it('the example prints what its comments say', async () => {
  const source = block('ts').replace(
    /'whetstone\/(\w+)'/g,
    (_, room) => `'${join(repository, `src/${room}/public.ts`)}'`,
  )
  const file = join(folder, 'run.ts')
  writeFileSync(file, source)
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import(/* @vite-ignore */ file)
  const printed = log.mock.calls.map(([value]) => value as ArrayLike<number> | number)
  log.mockRestore()
  expectClose(printed[0] as ArrayLike<number>, [0.99, 1.01])
  expect(printed[1]).toBe(0.5)
})

it('the command does what it is shown to do', async () => {
  // Every line behind a prompt, with what is printed below it.
  const [samples, command, output] = block('console')
    .split(/^\$ /m)
    .slice(1)
    .map(part => ({ line: part.slice(0, part.indexOf('\n')), printed: part.slice(part.indexOf('\n') + 1) }))
  writeFileSync(join(folder, 'samples.jsonl'), samples!.printed)
  const args = command!.line.split(' ').slice(2)
  let err = ''
  const write = vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    err += String(text)
    return true
  })
  expect(await main(args.map(arg => (arg.endsWith('.jsonl') ? join(folder, arg) : arg)))).toBe(0)
  write.mockRestore()
  expect(err).toBe(join(folder, command!.printed))
  const parse = (text: string): { advantages: number[]; returns: number[] }[] =>
    text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
  const shown = parse(output!.printed)
  for (const [i, line] of parse(readFileSync(join(folder, 'advantages.jsonl'), 'utf8')).entries()) {
    expectClose(line.advantages, shown[i]!.advantages)
    expectClose(line.returns, shown[i]!.returns)
  }
})
