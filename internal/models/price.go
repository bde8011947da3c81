package models

// ModelPrice is what a model cost from a time on, until the next one began. Prices are as in Model.
type ModelPrice struct {
	OrgID      OrgID   `gorm:"primaryKey"`
	ModelID    ModelID `gorm:"primaryKey"`
	ValidFrom  Millis  `gorm:"primaryKey;autoIncrement:false"`
	Input      *Nanos
	Output     *Nanos
	CacheRead  *Nanos
	CacheWrite *Nanos
}
