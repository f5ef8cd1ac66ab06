/** What is easily lost in a view: a curve of one value, runs compared while one trains, a zoom by mouse and keyboard, what is copied. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { openPage, runPage, until, watched } from './steps.mjs'

export async function looks(all) {
  await makeSingle(all)
  const { page, go, isFine, close } = await openPage(all)
  await page.getByRole('link', { name: 'single', exact: true }).waitFor()
  await go(runPage('single', 'curves'))
  await until('the one value is drawn', () => page.evaluate(isDrawn))
  await go(runPage('sft', 'stages'))
  await page.getByText(/update takes \d+ % of the time/).waitFor()

  // The page listens to the first of them; the other one trains.
  await go('#/compare/first/live?group=seconds')
  const compared = page.locator('[aria-label^="seconds/total."]')
  await compared.waitFor()
  const words = () => compared.getAttribute('aria-label')
  const before = await until('both curves', async () => (/live: last/.test(await words()) ? words() : undefined))
  await until('the curve of the other run goes on', async () => (await words()) !== before)

  await go(runPage('first', 'curves'))
  await zoom(page)
  isFine()
  await close()
  await copies(all)
  return 'a single value, a comparison with a run that trains, zoom and copies are as they should be'
}

async function makeSingle({ runs }) {
  const { Run } = await import('#whetstone/run')
  const identity = { command: 'rl', config: {}, origins: {}, fingerprints: {}, versions: {} }
  const run = await Run.create(join(runs, 'single'), identity)
  run.metrics(10, { 'validation/reward': 0.5 })
  await run.close('finished')
}

/** Whether anything of a curve's colour is on the first chart. Runs in the page. */
function isDrawn() {
  const canvas = document.querySelector('.uplot canvas')
  if (!canvas?.width) return false
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const [r, g, b] = [0x1d, 0x5f, 0xd1]
  return data.some((red, i) => i % 4 === 0 && red === r && data[i + 1] === g && data[i + 2] === b)
}

/** A drag over one chart zooms all of them, and so do the keys. */
async function zoom(page) {
  const over = page.locator('.uplot .u-over').first()
  await over.waitFor()
  const drag = async () => {
    const { x, y, width, height } = await over.boundingBox()
    await page.mouse.move(x + 0.25 * width, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(x + 0.5 * width, y + height / 2, { steps: 5 })
    await page.mouse.up()
  }
  const range = () => {
    const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1])
    return query.has('from') ? [Number(query.get('from')), Number(query.get('to'))] : undefined
  }
  // Of each chart the first and the last step that it shows, as its cursor finds them.
  const ends = async () => {
    const charts = page.locator('.card.plot .chart')
    const found = new Set()
    for (let n = 0; n < 3; n++) {
      const chart = charts.nth(n)
      const area = await until('a chart', () => chart.locator('.u-over').boundingBox())
      const read = async part => {
        // A chart is there before its points are.
        const words = await until('what the cursor is at', async () => {
          await page.mouse.move(area.x + part * area.width, area.y + area.height / 2 + 1)
          return chart.locator('.readout').textContent()
        })
        return words.split(' · ')[0]
      }
      found.add(`${await read(0.01)} to ${await read(0.99)}`)
    }
    return [...found]
  }
  const whole = await ends()
  assert.equal(whole.length, 1, `charts show ${whole}`)
  await drag()
  const [from, to] = await until('a range in the address', range)
  assert.ok(from >= 4 && to <= 12 && from < to, `from ${from} to ${to}`)
  await until('all charts show the range', async () => {
    const shown = await ends()
    return shown.length === 1 && shown[0] !== whole[0]
  })
  await over.dblclick()
  await until('everything again', () => range() === undefined)
  await page.locator('.chart-area').nth(1).focus()
  await page.keyboard.press('+')
  await until('a zoom by keyboard', range)
  await page.keyboard.press('0')
  await until('everything again', () => range() === undefined)
}

/** The record of a sample, where the browser gives the clipboard to the page, and at addresses where it does not. */
async function copies({ browser, url }) {
  for (const clipboard of ['given', 'not given']) {
    const context = await browser.newContext()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    if (clipboard === 'not given')
      await context.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    const { page, go, isFine } = await watched(context, url)
    await page.waitForSelector('table a')
    await go(runPage('first', 'samples'))
    await page.locator('td.text a').first().click()
    await page.getByRole('button', { name: 'Copy as JSON' }).click()
    await page.getByRole('button', { name: 'Copied', exact: true }).waitFor({ timeout: 5000 })
    // Pasted, as a person would.
    const note = page.getByLabel('note')
    await note.focus()
    await page.keyboard.press('Control+V')
    const record = JSON.parse(await note.inputValue())
    assert.ok(Array.isArray(record.outcome.responseIds) && record.reward.kind === 'scored', clipboard)
    isFine()
    await context.close()
  }
}
