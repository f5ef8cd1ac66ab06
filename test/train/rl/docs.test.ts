import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { shown } from '../../../src/train/config/describe-definition.js'
import { algorithmNames, algorithms } from '../../../src/train/rl/index.js'

const page = readFileSync(new URL('../../../docs/rl.md', import.meta.url), 'utf8')

test('the page has every preset as it is', () => {
  const rows = algorithmNames.map(name => {
    const options = Object.entries(algorithms[name].set).map(([key, value]) => `\`${key}: ${shown(value)}\``)
    return `| \`${name}\` | ${options.join(', ')} |`
  })
  // Cells without the spaces that align them.
  const table = page.split('<!-- presets -->')[1]!.split('<!-- /presets -->')[0]!.trim().replaceAll(/ +/g, ' ')
  expect(table.split('\n').slice(2)).toEqual(rows)
})
