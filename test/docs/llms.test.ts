/**
 * llms.txt is a list of the documentation for language models (https://llmstxt.org), made from the pages:
 * `npx vitest run test/docs/llms.test.ts -u` writes it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pages, pageText, root } from './blocks.js'

/** Pages that one reads first, in this order; the others follow by name. */
const first = ['quick-start', 'install', 'package', 'api', 'training', 'sft', 'reward-model', 'rl', 'rewards', 'data']

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  description: string
  exports: Record<string, { types: string }>
}

/** The title of a page, and its first sentence. */
function summary(text: string): { title: string; sentence: string } {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? ''
  const paragraphs = text.slice(text.indexOf(`# ${title}`) + title.length + 2).split(/\n\s*\n/)
  const prose = paragraphs.find(part => /^\s*[\p{L}`[*]/u.test(part) && !part.trim().startsWith('```')) ?? ''
  const plain = prose
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return { title, sentence: /^.*?[.:](?=\s|$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain }
}

function list(): string {
  const docs = pages.filter(page => page.startsWith('docs/')).map(page => page.slice(5, -3))
  const ordered = [...first.filter(name => docs.includes(name)), ...docs.filter(name => !first.includes(name))]
  const lines = ordered.map(name => {
    const { title, sentence } = summary(pageText(`docs/${name}.md`))
    return `- [${title}](docs/${name}.md): ${sentence}`
  })
  const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => `- [${name}](examples/${name})`)
    .sort()
  const rooms = Object.keys(manifest.exports).filter(name => name !== './package.json')
  return [
    '# Whetstone',
    `> ${manifest.description}.`,
    "Every training is a command (`npx whetstone sft --config sft.yaml`) and a function (`import { sft } from 'whetstone'`) with the same options.",
    `Types of the package have a comment for every option. Modules: ${rooms.map(name => `\`whetstone${name.slice(1)}\``).join(', ')}.`,
    `## Docs\n\n${lines.join('\n')}`,
    `## Examples\n\n${examples.join('\n')}`,
    '## Optional\n\n- [JSON Schemas of the configs](docs/schema)\n- [Changes](CHANGELOG.md)\n',
  ].join('\n\n')
}

test('llms.txt names every page with its first sentence', async () => {
  const text = list()
  for (const line of text
    .split('\n')
    .filter(one => one.startsWith('- [') && one.includes('docs/') && one.includes('.md')))
    expect(line).toMatch(/\): \S.{10,}[.]$|CHANGELOG/)
  await expect(text).toMatchFileSnapshot(join(root, 'llms.txt'))
})
