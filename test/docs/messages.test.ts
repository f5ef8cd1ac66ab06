/** The messages that the pages of engines quote are those the code says: each constant piece of one is in the source. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pageText, root } from './blocks.js'

const source = ['rollout', 'train', 'launch', 'experience', 'maths', 'serve', 'distributed']
  .flatMap(room =>
    readdirSync(join(root, 'src', room), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => readFileSync(join(root, 'src', room, name), 'utf8')),
  )
  .join('\n')

/** The quoted messages in the first column of the troubleshooting table. */
function quoted(page: string, heading = '## Troubleshooting'): string[] {
  const [, section = ''] = pageText(page).split(heading)
  const cells = [...section.matchAll(/^\| (.*?) +\|/gm)].map(([, cell]) => cell!)
  // A message is a phrase: names of options and paths alone are none.
  return cells.flatMap(cell => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)).filter(text => / /.test(text))
}

/** What is not filled in when the message is made; steps and reasons are joined by colons. */
const pieces = (message: string): string[] =>
  message
    .split(
      /\.\.\.|: |[();]| needs |Unauthorized\. |http:\/\/|ECONNREFUSED|\bregex\b|\d+(?:\.\d+)*|\braw\b|\bprocessed\b|\bSGLang\b|\bvLLM\b/,
    )
    .map(piece => piece.replaceAll(/^[\s(),;]+|[\s(),;]+$/g, ''))
    .filter(piece => piece.length > 3)

test.each(['docs/vllm.md', 'docs/sglang.md'])('%s quotes what is said', page => {
  const messages = quoted(page)
  expect(messages.length).toBeGreaterThan(5)
  const missing = messages.flatMap(message => pieces(message).filter(piece => !source.includes(piece)))
  // The server's own words.
  expect(missing.filter(piece => piece !== 'v_proj')).toEqual([])
})

test('docs/distributed.md quotes what is said', () => {
  const messages = quoted('docs/distributed.md', '## What goes wrong, and what it says')
  expect(messages.length).toBeGreaterThan(10)
  const found = messages.flatMap(message => message.split(/\brank\b|\d+|\(…\)|SIGKILL|\/models\/m|: /))
  const constant = found.map(piece => piece.trim().replace(/^has /, '')).filter(piece => piece.length > 3)
  expect(constant.filter(piece => !source.includes(piece))).toEqual([])
})
