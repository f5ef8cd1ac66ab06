/** Style sheets: esbuild puts what is imported into `page.css`. */
declare module '*.css'
