/** The schema of one server-sent event, whose data is JSON of this schema. */
export const eventSchema = (data: object) => ({
  type: 'object',
  description: 'One event',
  properties: {
    event: { type: 'string', description: 'The type in the data, where events are named' },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema: data },
  },
  required: ['data'],
})
