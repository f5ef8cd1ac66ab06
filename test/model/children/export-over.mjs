// Writes a model over an earlier export and is killed on the way.
//
//   node export-over.mjs INDEX SOURCE TARGET export|state AT
import { pathToFileURL } from 'node:url'
import { killAt } from '../../support/kill-at.mjs'

const [, , index, source, target, what, at] = process.argv
killAt(Number(at), ['rename', 'rm'])
const { LocalModel } = await import(pathToFileURL(index).href)
const model = await LocalModel.load(source, { role: 'language' })
if (what === 'state') await model.saveState(target)
else await model.export(target, { what: 'model', maxShardBytes: 200_000 })
