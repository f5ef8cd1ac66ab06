/** Rows of pictures that are named by what they show: node make-rows.mjs FOLDER */
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node make-rows.mjs FOLDER')
const row = name => ({
  prompt: 'Which colour is the square?',
  images: [`${basename(folder)}/${name}`],
  completion: name.split('-')[0],
  target: name.split('-')[0],
})
const pictures = readdirSync(folder).filter(name => /\.(png|jpe?g|webp|gif|tiff?)$/i.test(name))
// Paths of images begin at the folder of the file of rows, and stay inside.
const file = join(dirname(folder), 'rows.jsonl')
writeFileSync(file, pictures.map(name => `${JSON.stringify(row(name))}\n`).join(''))
console.log(`${file}: ${pictures.length} rows`)
