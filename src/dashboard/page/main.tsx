/** The page starts here. */
import 'uplot/dist/uPlot.min.css'
import './page.css'
import { render } from 'preact'
import { App } from './app.js'

render(<App />, document.getElementById('page')!)
