/** Runs over prompts with images and videos: one image, several, a video, both, none; in columns and in messages. */
import { fresh, written } from '../../support/files.js'
import { quickly, type StartOptions, start } from '../../support/rl.js'
import { pictureFolder, rowsBeside, visionDirectory } from '../../support/vision-task.js'

export const model = await visionDirectory(1)
const { folder, names } = await pictureFolder(5)
const frames = { frames: names.slice(0, 3).map(({ name }) => name), fps: 2 }
const rows = [
  { prompt: 'Which colour?', images: [names[0]!.name] },
  { prompt: 'Compare <image> with <image>', images: [names[1]!.name, names[2]!.name] },
  { prompt: 'What happens?', videos: [frames] },
  {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image', image: names[3]!.name },
          { type: 'video', ...frames },
        ],
      },
    ],
  },
  { prompt: 'Say something' },
  { prompt: 'Which colour?', images: [names[4]!.name] },
]
const data = rowsBeside(folder, rows)
const rewards = written(
  'length.json',
  JSON.stringify({ sources: { long: { type: 'rule', rule: 'length', unit: 'characters', min: 60, falloff: 60 } } }),
)
export const optionsOf = (more: object) =>
  quickly({ model, data, rewards, output: fresh('run'), chatTemplate: 'auto', rolloutBatchSize: 3, seed: 3, ...more })

export async function run(more: object = {}, how: StartOptions = {}) {
  const options = optionsOf(more)
  const { outcome } = await start(options, how)
  return { output: options.output as string, options, outcome }
}
