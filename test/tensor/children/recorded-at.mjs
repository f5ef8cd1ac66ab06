import { pathToFileURL } from 'node:url'

const { zeros } = await import(pathToFileURL(process.argv[2]).href)
const { program } = await import(pathToFileURL(process.argv[3]).href)
await program.run(zeros([2, 2])).catch(error => console.log(error.recordedAt))
