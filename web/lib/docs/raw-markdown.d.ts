/** The text of a Markdown file, as the build imports it. */
declare module '*.md?raw' {
  const text: string
  export default text
}
