/** Writes the loss of each step into a table beside the run. */
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineLogger } from 'whetstone'

let file = ''

export default defineLogger({
  name: 'csv',
  start({ directory }) {
    file = join(directory, 'losses.csv')
  },
  async metrics(entries) {
    const lines = entries.map(({ step, values }) => `${step},${values['loss/train'] ?? ''}\n`)
    await appendFile(file, lines.join(''))
  },
})
